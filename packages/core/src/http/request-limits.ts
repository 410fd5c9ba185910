import { formatKind, HeadgateError, invalidValue } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";

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
