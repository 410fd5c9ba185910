import { formatReceived, HeadgateError } from "../errors.ts";
import type { Policy } from "../policy.ts";

/** Limits that depend on a request's tier, as `byTier` returns them: each tier has its own limits and counters. */
export interface TierPolicy<Request = never, Per extends string = string> {
  /** The limits of each tier; null for one that is not limited. */
  readonly tiers: Readonly<Record<string, Policy<Per> | null>>;
  readonly select: (request: Request) => string | Promise<string>;
}

/**
 * Chooses the limits by the tier a request belongs to: `byTier({ free: ..., premium: ... }, (req) => req.user.plan)`.
 * `select` returns the name of one of the tiers, or a promise of it; another name does not compile. At run time a tier that
 * does not exist is an error passed to the framework, `HEADGATE_UNKNOWN_TIER`, never an unlimited request. A tier whose limits
 * are null is not limited: its requests pass without headers. At least one tier must have limits.
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

/** Throws `HEADGATE_INVALID_OPTION` for invalid tiers, or without a function that selects one. */
export function requireTiers({ tiers, select }: TierPolicy): void {
  const areTiers = typeof tiers === "object" && tiers !== null && !Array.isArray(tiers);
  if (!areTiers || Object.keys(tiers).length === 0) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `byTier: tiers must be an object with the limits of each tier, got ${formatReceived(tiers)}`,
    );
  }
  if (Object.values(tiers).every((limits) => limits === null)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `byTier: at least one tier must have limits, got ${formatReceived(tiers)}`,
    );
  }
  if (typeof select !== "function") {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `byTier: the second argument must be a function that names a request's tier, got ${formatReceived(select)}`,
    );
  }
}

export function isTierPolicy(limits: unknown): limits is TierPolicy {
  return typeof limits === "object" && limits !== null && "tiers" in limits;
}
