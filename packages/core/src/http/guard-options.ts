import { compileLimit } from "../algorithms/compile-limit.ts";
import type { Cost } from "../cost.ts";
import { codeOf, formatReceived, HeadgateError } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { FAILURE_OPTIONS, readFailureOptions } from "../limiter/outage/failure-options.ts";
import type { FailureOptions } from "../limiter/outage/outage.ts";
import { rejectUnknownOptions } from "../options.ts";
import { PEER_LIMITER_OPTIONS, PEER_REQUEST_OPTIONS } from "../peer-options.ts";
import { isPlainObject } from "../plain-object.ts";
import type { Policy } from "../policy.ts";
import type { Store } from "../store/store.ts";
import type { AddressOption } from "./address-header.ts";
import { readAddressOption } from "./address-header.ts";
import type { TierPolicy } from "./by-tier.ts";
import { isTierPolicy, requireTiers } from "./by-tier.ts";
import type { ClientList } from "./client-lists.ts";
import { validateClientLists } from "./client-lists.ts";
import type { CountOption } from "./count.ts";
import type { HeadersOption } from "./headers.ts";
import { readHeadersOption } from "./headers.ts";
import type { KeyFunction } from "./key-function.ts";
import type { RequestPolicy } from "./per-request.ts";
import { isRequestPolicy, requireLimitsOf } from "./per-request.ts";
import type { WaitOption } from "./wait-option.ts";
import { readWaitOption } from "./wait-option.ts";

/** What happens to a request whose key is undefined or empty: count its address, answer 400, or leave the limit out. */
export type MissingKey = "ip" | "reject" | "skip";

/** The dimensions that need no key function. */
export type KnownDimension = "default" | "ip" | "global";

/** The options that all adapters share. `Request` is the framework's request. */
export interface GuardOptions<Request, Dimension extends string = string> extends FailureOptions {
  /** The identity of the counters, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** The limits decided together for one request: one, several, `byTier(...)`, or `perRequest(...)`. */
  readonly limits?:
    | Policy<NoInfer<Dimension> | KnownDimension>
    | TierPolicy<Request, NoInfer<Dimension> | KnownDimension>
    | RequestPolicy<Request, NoInfer<Dimension> | KnownDimension>
    | undefined;
  /** A limiter created with `createLimiter`, instead of `limits`, `store` and `name`. */
  readonly limiter?: Limiter | undefined;
  /** Where counts live. Default: a `memoryStore()` of its own. */
  readonly store?: Store | undefined;
  /** Who is counted: a key function, or one for each dimension. Default `byIp()`. */
  readonly key?:
    | KeyFunction<Request>
    | { readonly [D in Dimension]: KeyFunction<Request> }
    | undefined;
  /** Where the client's address comes from. Default: the framework's own, as its proxy trust gives it. */
  readonly address?: AddressOption | undefined;
  /** Clients that are never limited: addresses and networks (CIDR), or a function. */
  readonly allowList?: ClientList<Request> | undefined;
  /** Clients that are answered with status 403, even if they are on `allowList`. */
  readonly blockList?: ClientList<Request> | undefined;
  /** When a key is undefined or empty: count the address (default), answer 400, or leave that limit out. */
  readonly missing?: MissingKey | undefined;
  /**
   * The units a request costs: a whole number of at least 0, or an object of units by limits' names. Limits that are not named
   * cost 1, and 0 leaves a limit out of the decision. A cost of 0 charges nothing, and only a block denies it. Default 1.
   */
  readonly cost?: Cost | ((request: Request) => Cost | Promise<Cost>) | undefined;
  /**
   * Which answers count: `"all"` (default), `"failed"` (status 400 and above), `"succeeded"` (below 400), or a function that says, when
   * the response has been ended, whether its request counts, or how many units it cost. Until then every request is charged, and a
   * request whose answer is cut off stays charged.
   */
  readonly count?: CountOption<Request, never> | undefined;
  /** Whether a request is not limited at all. */
  readonly skip?:
    | ((request: Request) => boolean | undefined | Promise<boolean | undefined>)
    | undefined;
  /** Which headers an answer carries. Default: legacy and standard. */
  readonly headers?: HeadersOption | undefined;
  /** Answers denied requests in the application's way: a function of the framework's own kind, or `"error"`. Some adapters do not have it. */
  readonly onDenied?: unknown;
  /**
   * How long a request that would be denied waits first, 1 ms to 10 minutes: in line behind its subject's other requests in this
   * process, at most 100 and no more than half of `maxQueue`. A client that leaves while it waits costs nothing. Not for limits with
   * `block`. Default `false`.
   */
  readonly wait?: WaitOption | undefined;
  /** The most requests and calls of `limiter.wait` that may wait at once: at least 1. Default 1,000. */
  readonly maxQueue?: number | undefined;
  /**
   * Shadow mode: decides, counts and publishes, but denies nobody. It sets neither `rateLimit` nor any header; only `of` and the channel
   * `headgate:decision` show its decisions. Default false.
   */
  readonly shadow?: boolean | undefined;
}

const OWN_OPTIONS: readonly string[] = [
  "name",
  "limits",
  "limiter",
  "store",
  "key",
  "address",
  "allowList",
  "blockList",
  "missing",
  "cost",
  "count",
  "skip",
  "headers",
  "onDenied",
  "wait",
  "maxQueue",
  "shadow",
];

/** The options' names. */
export const GUARD_OPTIONS: readonly string[] = [...OWN_OPTIONS, ...FAILURE_OPTIONS];

/** Options of others that mean something else here when they are a function of the request. */
const PEER_FUNCTIONS: Readonly<Record<string, string>> = {
  max: "limits: perRequest(fixedWindow({ limit, window }), (request) => ...)",
  limit: "limits: perRequest(fixedWindow({ limit, window }), (request) => ...)",
  timeWindow: "limits: byTier(tiers, (request) => ...), because each window counts for itself",
};

/** Throws `HEADGATE_INVALID_OPTION` for an unknown option, with the name of ours if it is another limiter's. */
export function validateGuardOptions(
  owner: string,
  options: object,
  more: readonly string[] = [],
): void {
  rejectUnknownOptions(owner, options, [...GUARD_OPTIONS, ...more], peerOptionsFor(options));
  const {
    missing,
    skip,
    cost,
    count,
    key,
    address,
    limits,
    headers,
    onDenied,
    wait,
    maxQueue,
    shadow,
  } = options as GuardOptions<never>;
  if (address !== undefined) readAddressOption(owner, address);
  validateClientLists(owner, options);
  withOwner(owner, () => {
    validateLimits(limits);
    readHeadersOption(headers);
    readFailureOptions(options);
    readWaitOption(wait);
  });
  requireThat(
    owner,
    "missing",
    missing,
    isOneOf("ip", "reject", "skip"),
    '"ip", "reject" or "skip"',
  );
  requireThat(owner, "skip", skip, isFunction, "a function");
  requireThat(
    owner,
    "maxQueue",
    maxQueue,
    (value) => Number.isSafeInteger(value) && (value as number) >= 1,
    "a whole number of at least 1",
  );
  requireThat(owner, "shadow", shadow, isOneOf(true, false), "true or false");
  requireThat(
    owner,
    "cost",
    cost,
    (value) => isFunction(value) || isPlainObject(value) || isUnits(value),
    "a whole number of at least 0, an object with units by the names of limits, or a function",
  );
  requireThat(
    owner,
    "count",
    count,
    (value) => isFunction(value) || isOneOf("all", "failed", "succeeded")(value),
    '"all", "failed", "succeeded" or a function',
  );
  requireThat(owner, "key", key, isKey, "a function, or an object with one for each dimension");
  requireThat(
    owner,
    "onDenied",
    onDenied,
    (value) => isFunction(value) || value === "error",
    'a function or "error"',
  );
}

const PEER_OPTIONS = { ...PEER_LIMITER_OPTIONS, ...PEER_REQUEST_OPTIONS };

function peerOptionsFor(options: object): Readonly<Record<string, string>> {
  const functions = Object.entries(PEER_FUNCTIONS).filter(([name]) =>
    isFunction((options as Record<string, unknown> | null)?.[name]),
  );
  return functions.length === 0
    ? PEER_OPTIONS
    : { ...PEER_OPTIONS, ...Object.fromEntries(functions) };
}

/** Adds to an error's message whose options are wrong, such as a route's. */
function withOwner(owner: string, validate: () => void): void {
  try {
    validate();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new HeadgateError(code, `${owner}: ${(error as Error).message}`, { cause: error });
  }
}

/** Throws `HEADGATE_INVALID_LIMIT` for limits that are wrong whatever store they count in. */
function validateLimits(limits: GuardOptions<never>["limits"]): void {
  if (limits === undefined) return;
  for (const policy of policiesIn(limits)) {
    const list = [policy].flat();
    for (const limit of list) compileLimit(limit);
    if (list.length > 0) continue;
    throw new HeadgateError("HEADGATE_INVALID_LIMIT", "limits must hold at least one, got []");
  }
}

/** The policies that do not depend on a request. */
function policiesIn(limits: NonNullable<GuardOptions<never>["limits"]>): readonly Policy[] {
  if (isTierPolicy(limits)) {
    requireTiers(limits);
    return Object.values(limits.tiers).filter((policy) => policy !== null);
  }
  if (!isRequestPolicy(limits)) return [limits as Policy];
  requireLimitsOf(limits);
  return [limits.base];
}

function requireThat(
  owner: string,
  option: string,
  value: unknown,
  holds: (value: unknown) => boolean,
  rule: string,
): void {
  if (value === undefined || holds(value)) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ${option} must be ${rule}, got ${formatReceived(value)}`,
  );
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isUnits(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isOneOf(...allowed: readonly unknown[]): (value: unknown) => boolean {
  return (value) => allowed.includes(value);
}

function isKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return isFunction(value);
  return Object.values(value).every(isFunction);
}
