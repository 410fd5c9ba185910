import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Cost } from "../common/cost.ts";
import { formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../common/policy.ts";
import type { CheckedDuration, Duration } from "../common/time.ts";
import type { CheckedDurations, FailureOptions } from "../limiter/failure-options.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { internalsOf, LIMITER } from "../limiter/limiter-internals.ts";
import { unitsFor } from "../policy/costs.ts";
import type { Store } from "../store/store.ts";
import type { CountOption } from "./count-option.ts";
import { countsAll } from "./count-option.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { HeadersOption } from "./headers.ts";
import type { KeyFunction } from "./keys.ts";
import type { ClientList } from "./lists.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import type { AddressOption } from "./proxy-trust.ts";
import type { RequestPolicy, TierPolicy } from "./request-limits.ts";

/** How long a request that would be denied waits first: 1 ms to 10 minutes, or `false` for no wait. */
export type WaitOption = Duration | false;

/** The durations of a guard's options, where the compiler finds a misspelt literal. `Text` is inferred. */
export interface CheckedGuardTimes<Text extends string> extends CheckedDurations<Text> {
  readonly wait?: CheckedDuration<Text> | false | undefined;
}

/** How to handle a request whose key is undefined or empty: count its address, respond with 400, or leave the limit out. */
export type MissingKey = "ip" | "reject" | "skip";

/** The dimensions that need no key function. */
export type KnownDimension = "default" | "ip" | "global";

/** Without it, a function whose result is no key would pass as an object of keys for no dimension. */
interface NotAFunction {
  readonly [Symbol.hasInstance]?: never;
}

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
  /** Where counts are stored. Default: a separate `memoryStore()`. */
  readonly store?: Store | undefined;
  /** What to count by: a key function, or one for each dimension. Default `byIp()`. */
  readonly key?:
    | KeyFunction<Request>
    | ({ readonly [D in Dimension]: KeyFunction<Request> } & NotAFunction)
    | undefined;
  /** Where the client's address comes from. Default: the framework, according to its proxy trust. */
  readonly address?: AddressOption | undefined;
  /** Clients that are never limited: addresses and networks (CIDR), or a function. */
  readonly allowList?: ClientList<Request> | undefined;
  /** Clients that are refused with status 403, even if they are on `allowList`. */
  readonly denyList?: ClientList<Request> | undefined;
  /** What to do if a key is undefined or empty: count the address (default), respond with 400, or leave that limit out. */
  readonly missingKey?: MissingKey | undefined;
  /**
   * The units a request costs: a whole number of at least 0, or an object of units by limits' names. Limits that are not named
   * cost 1, and 0 leaves a limit out of the decision. A cost of 0 charges nothing, and only a block denies it. Default 1.
   */
  readonly cost?: Cost | ((request: Request) => Cost | Promise<Cost>) | undefined;
  /**
   * Which responses count: `"all"` (default), `"failed"` (status 400 and above), `"succeeded"` (below 400), or a function,
   * called when the response has ended, that returns whether the request counts or how many units it cost. Until then every
   * request is charged, and it stays charged if the response is cut off.
   */
  readonly count?: CountOption<Request, never> | undefined;
  /**
   * The dimensions in which `resetClient(request)` deletes the usage of a request's client, for example after a successful login.
   * Not `global`.
   */
  readonly resetDimensions?:
    | readonly (NoInfer<Dimension> | Exclude<KnownDimension, "global">)[]
    | undefined;
  /** Whether a request is exempt from limits. */
  readonly skip?:
    | ((request: Request) => boolean | undefined | Promise<boolean | undefined>)
    | undefined;
  /** Which headers a response carries. Default: legacy and standard. */
  readonly headers?: HeadersOption | undefined;
  /** How to respond to denied requests: a function of the framework's kind, or `"error"`. Some adapters do not have this option. */
  readonly onDenied?: unknown;
  /**
   * How long a request that would be denied waits first, 1 ms to 10 minutes. It waits in a queue with its subject's other requests in
   * this process: at most 100, and no more than half of `maxQueue`. A client that disconnects while it waits costs nothing.
   * Not for limits with `block`. Default `false`.
   */
  readonly wait?: WaitOption | undefined;
  /** The most requests and calls of `limiter.wait` that may wait at once: at least 1. Default 1,000. */
  readonly maxQueue?: number | undefined;
  /**
   * Shadow mode: decides, counts and publishes, but denies no request. It sets neither `rateLimit` nor any header; only
   * `decisionOf` and the channel `headgate:decision` show its decisions. Default false.
   */
  readonly shadow?: boolean | undefined;
}

/* Options that conflict with the limits, found when a guard is created. */

/** Throws `HEADGATE_INVALID_OPTION` for a key that no limiter counts by, because it would never be called. */
export function rejectUnusedKeys(
  owner: string,
  key: GuardSettings<never>["key"],
  limiters: readonly Limiter[],
): void {
  if (key === undefined) return;
  const groups = limiters.flatMap((limiter) => internalsOf(limiter).policy.groups);
  const counted = new Set(groups.map(({ dimension }) => dimension));
  counted.delete(GLOBAL_DIMENSION);
  const isOne = typeof key === "function";
  const unread = isOne ? [DEFAULT_DIMENSION] : Object.keys(key);
  const dimension = unread.find((name) => !counted.has(name));
  if (dimension === undefined) return;
  const what = isOne ? "key" : `the key of ${formatReceived(dimension)}`;
  const how = isOne ? "; give each key its dimension, as in key: { user: (request) => ... }" : "";
  throw invalidOption(
    `${owner}: ${what} is never read, because ${explainUnusedKey(limiters, counted)}${counted.size === 0 ? "" : how}`,
  );
}

function explainUnusedKey(limiters: readonly Limiter[], counted: ReadonlySet<string>): string {
  if (limiters.length === 0) return "every route with limits has a key of its own";
  if (counted.size === 0) return "the limits count all clients together";
  return `the limits count per ${[...counted].map(formatReceived).join(", ")}`;
}

/**
 * Throws `HEADGATE_COST_ABOVE_LIMIT` if the cost of all requests is more than a limiter can ever grant. A limit of 0 is
 * intended to deny.
 */
export function rejectImpossibleCost(
  owner: string,
  cost: GuardSettings<never>["cost"],
  { all, single, choose }: GuardLimiters,
): void {
  const isPerRequest = single !== undefined && choose !== undefined;
  if (cost === undefined || typeof cost === "function" || isPerRequest) return;
  const impossible = all.map((limiter) => findImpossibleLimit(limiter, cost));
  const [first] = impossible;
  if (first === undefined || impossible.includes(undefined)) return;
  const { name, limit, units } = first;
  throw new HeadgateError(
    "HEADGATE_COST_ABOVE_LIMIT",
    `${owner}: a cost of ${units} would deny every request, because the limit ${formatReceived(name)} grants ${limit} at most; lower the cost, or raise the limit`,
  );
}

/** The first limit that can never grant a cost. */
function findImpossibleLimit(
  limiter: LimiterWithInternals,
  cost: Cost,
): { readonly name: string; readonly limit: number; readonly units: number } | undefined {
  for (const { name, limit, shape } of limiter[LIMITER].policy.limits) {
    // One number takes one slot, whatever it is.
    const ofAll = typeof cost === "number" && shape.slotTtl === undefined ? cost : 1;
    const units = typeof cost === "object" ? (unitsFor(cost, name) ?? 1) : ofAll;
    if (limit > 0 && units > limit) return { name, limit, units };
  }
  return undefined;
}

/**
 * Throws `HEADGATE_INVALID_OPTION` for `count` or `wait` with limits that block. Until `count` settles them, requests in
 * progress are charged, and a denial because of them must not lock a client out. A request that waits is not denied at once, so
 * it would never set a block.
 */
export function rejectBlockConflicts(
  owner: string,
  limiters: readonly LimiterWithInternals[],
  { count, waitMs }: Pick<GuardSettings<never>, "count" | "waitMs">,
): void {
  const limits = limiters.flatMap((limiter) => limiter[LIMITER].policy.limits);
  const reject = (blocking: CompiledLimit | undefined, why: (name: string) => string): void => {
    if (blocking === undefined) return;
    throw invalidOption(`${owner}: ${why(formatReceived(blocking.name))}`);
  };
  if (!countsAll(count)) {
    reject(
      limits.find(({ shape }) => shape.blocksOnDenial && !shape.countsDenials),
      (name) =>
        `count cannot be used with limits whose denials block, because requests in progress would set blocks; the limit ${name} has a block, and its limiter was created without count. Give count together with limits, or create the limiter with blockOn: "settle"`,
    );
  }
  if (waitMs !== undefined) {
    reject(
      limits.find(({ block }) => block !== undefined),
      (name) =>
        `wait cannot be used with limits that have a block, because it is set at once; the limit ${name} has one. Leave one of them out, for example with wait: false`,
    );
  }
}
