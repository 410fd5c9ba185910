import type { Decision } from "../common/decision.ts";
import { codeOf, formatKind, HeadgateError, invalidValue } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import type { SlotHandle } from "../policy/limiter-decision.ts";
import type { KeyFunction } from "./keys.ts";
import type { RequestContext } from "./request-context.ts";
import { holdSlots, isNodeResponse } from "./response-end.ts";
import type { ByHeaderOptions, ByIpOptions, RequestSubjects } from "./subject.ts";

/** Limits that depend on a request's tier, as `byTier` returns them: each tier has its own limits and counters. */
export interface TierPolicy<Request = never, Per extends string = string> {
  /** The limits of each tier; null for one that is not limited. */
  readonly tiers: Readonly<Record<string, Policy<Per> | null>>;
  readonly select: (request: Request) => string | Promise<string>;
}

/** Limits that depend on the request, as `perRequest` returns them: a base, and a function that gives a request's limits. */
export interface RequestPolicy<Request = never, Per extends string = string> {
  readonly base: Policy<Per>;
  readonly limitsOf: (request: Request) => Policy<Per> | null | Promise<Policy<Per> | null>;
}

/**
 * Chooses the limits by the tier a request belongs to: `byTier({ free: ..., premium: ... }, (req) => req.user.plan)`.
 * `select` returns the name of one of the tiers, or a promise of it; another name does not compile. At run time a tier
 * that does not exist is an error passed to the framework, `HEADGATE_UNKNOWN_TIER`, never an unlimited request. A tier
 * whose limits are null is not limited: its requests pass without headers. At least one tier must have limits.
 * Throws `HEADGATE_INVALID_OPTION`.
 */
export function byTier<
  const Per extends string = never,
  Request = never,
  Tier extends string = string,
>(
  tiers: Readonly<Record<Tier, Policy<Per> | null>>,
  select: (request: Request) => NoInfer<Tier> | Promise<NoInfer<Tier>>,
): TierPolicy<Request, Per> {
  requireTiers({ tiers, select });
  return { tiers, select };
}

/**
 * Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (req) => req.customer.limits)`. The function
 * returns limits that count by dimensions of the base, null for a request that is not limited, or a promise of either. The
 * base's limits with other numbers keep the base's counts and names. Limits of another shape (another window, another
 * algorithm, more or fewer of them) have a counter of their own, so a client that could choose the shape could choose a fresh
 * counter: take limits from your own data, never from the client. At most 64 shapes besides the base's are in use at a time.
 *
 * Any other result is an error passed to the framework, `HEADGATE_INVALID_LIMIT`, never an unlimited request. Throws
 * `HEADGATE_INVALID_OPTION`; the base is checked when the limiter is created.
 */
export function perRequest<const Per extends string = never, Request = never>(
  base: Policy<Per>,
  limitsOf: (
    request: Request,
  ) => Policy<NoInfer<Per>> | null | Promise<Policy<NoInfer<Per>> | null>,
): RequestPolicy<Request, Per> {
  const policy = { base, limitsOf };
  requireLimitsOf(policy);
  return policy;
}

/**
 * The key functions and policies for the request of one framework, under which an adapter exports them. An editor shows these
 * comments for calls of them.
 */
export interface PolicyFunctions<Request> {
  /**
   * Counts by client address, as the framework's proxy trust gives it. IPv4 counts per address, or per network of `ipv4Prefix`
   * bits, also where it is embedded in IPv6; IPv6 counts per network of `ipv6Prefix` bits. Throws `HEADGATE_INVALID_OPTION`.
   */
  byIp(options?: ByIpOptions): KeyFunction<Request>;
  /**
   * Counts by the value of a request header, which is hashed with SHA-256 before it becomes a key. A header alone does not
   * identify a client, because each new value gets a new counter: also count by address. Throws `HEADGATE_INVALID_OPTION`.
   */
  byHeader(name: string, options?: ByHeaderOptions): KeyFunction<Request>;
  /**
   * Counts by several keys together, such as address and account: each combination is a subject of its own; a request that lacks
   * one of them has no key. Throws `HEADGATE_INVALID_OPTION`.
   */
  combineKeys(...keys: readonly KeyFunction<Request>[]): KeyFunction<Request>;
  /**
   * Chooses the limits by a request's tier; each tier has its own counters. `select` returns the name of one of the tiers,
   * or a promise of it. At run time a tier that does not exist is an error passed to the framework, `HEADGATE_UNKNOWN_TIER`,
   * never an unlimited request. A tier whose limits are null is not limited: its requests pass without headers. Throws
   * `HEADGATE_INVALID_OPTION`.
   */
  byTier<const Per extends string = never, Tier extends string = string>(
    tiers: Readonly<Record<Tier, Policy<Per> | null>>,
    select: (request: Request) => NoInfer<Tier> | Promise<NoInfer<Tier>>,
  ): TierPolicy<Request, Per>;
  /**
   * Takes limits from the request. The function returns limits that count by dimensions of the base, null for a request that is
   * not limited, or a promise of either; any other result is an error passed to the framework, `HEADGATE_INVALID_LIMIT`. The
   * base's limits with other numbers keep the base's counts and names. Limits of another shape (another window, another
   * algorithm, more or fewer of them) have a counter of their own, at most 64 shapes at a time: take them from your own data,
   * never from the client, who could choose a fresh counter. Throws `HEADGATE_INVALID_OPTION`; the base is checked when the
   * limiter is created.
   */
  perRequest<const Per extends string = never>(
    base: Policy<Per>,
    limitsOf: (
      request: Request,
    ) => Policy<NoInfer<Per>> | null | Promise<Policy<NoInfer<Per>> | null>,
  ): RequestPolicy<Request, Per>;
}

/** Throws `HEADGATE_INVALID_OPTION` for invalid tiers, or without a function that selects one. */
export function requireTiers({ tiers, select }: TierPolicy): void {
  const areTiers = typeof tiers === "object" && tiers !== null && !Array.isArray(tiers);
  if (!areTiers || Object.keys(tiers).length === 0) {
    throw invalidValue("byTier: tiers must be an object with the limits of each tier", tiers);
  }
  const limitsOf = (tier: string) => Object.getOwnPropertyDescriptor(tiers, tier)?.value;
  if (Object.keys(tiers).every((tier) => limitsOf(tier) === null)) {
    throw invalidValue("byTier: at least one tier must have limits", tiers);
  }
  if (typeof select !== "function") {
    throw invalidValue(
      "byTier: the second argument must be a function that names a request's tier",
      select,
    );
  }
}

/** Throws `HEADGATE_INVALID_OPTION` if there is no function that gives a request's limits. */
export function requireLimitsOf({ limitsOf }: RequestPolicy): void {
  if (typeof limitsOf === "function") return;
  throw invalidValue(
    "perRequest: the second argument must be a function that returns a request's limits",
    limitsOf,
  );
}

export function isTierPolicy(limits: unknown): limits is TierPolicy {
  return typeof limits === "object" && limits !== null && "tiers" in limits;
}

export function isRequestPolicy(limits: unknown): limits is RequestPolicy {
  return typeof limits === "object" && limits !== null && "limitsOf" in limits;
}

/** Checks that the function returned limits, or null; the limiter checks the rest. Throws `HEADGATE_INVALID_LIMIT`. */
export function readLimits(owner: string, returned: unknown): Policy | null {
  if (typeof returned === "object") return returned as Policy | null;
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the function of perRequest must return limits, or null for a request that is not limited, got ${formatKind(returned)}`,
    { cause: returned },
  );
}

/* A request's own limits, which may have another shape than those that its guard was created with. */

/** Whether a request lacks every subject that its own limits count by, so that it is not limited. */
export function hasNoSubject<Request>(
  { limits, subjects }: RequestContext<Request>,
  error: unknown,
): boolean {
  if (limits === undefined || codeOf(error) !== "HEADGATE_EMPTY_KEY") return false;
  return Object.values(subjects as RequestSubjects).includes(null);
}

/** Whether the limits of a decision have the same names as the limiter's own. */
export function hasSameNames({ limits }: LimiterWithInternals, decision: Decision): boolean {
  return decision.limits.every(({ name }, i) => name === limits[i]?.name);
}

/** Holds the slots of a request until its response ends. Throws `HEADGATE_INVALID_LIMIT` if the response cannot be watched. */
export function holdRequestSlots(
  owner: string,
  slots: SlotHandle | undefined,
  response: unknown,
): void {
  if (slots === undefined) return;
  if (isNodeResponse(response)) {
    holdSlots(slots, response);
    return;
  }
  // If the store is unavailable, they expire.
  slots.release().catch(() => {});
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request count slots, which are held until its response is over, but the adapter passes no response of Node's to check`,
  );
}

/** Throws `HEADGATE_INVALID_LIMIT` for limits that block in a guard with `wait`: a request that waits sets no block. */
export function rejectBlocksWithWait<Request>(
  owner: string,
  { limits }: RequestContext<Request>,
): void {
  const blocks = [limits].flat().some((limit) => limit && "block" in limit && limit.block);
  if (!blocks) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request have a block, which cannot be used with wait, because it is set at once`,
  );
}

/** Leaves out a customer's numbers, which an error handler might send to clients: they are in the cause. */
export function hideRequestLimits(owner: string, error: unknown): unknown {
  if (codeOf(error) !== "HEADGATE_INVALID_LIMIT") return error;
  return new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request are invalid; the cause says why`,
    { cause: error },
  );
}
