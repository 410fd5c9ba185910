import type { Policy } from "@headgate/core";
import type { TierPolicy } from "@headgate/core/http";
import { byTier as tiersOf } from "@headgate/core/http";
import type { Request } from "express";

/**
 * Chooses the limits by a request's tier; each tier has its own counters. `select` returns the name of one of
 * the tiers, or a promise of it; another name does not compile. At run time a tier that does not exist is an error passed to
 * the framework, `HEADGATE_UNKNOWN_TIER`, never an unlimited request. A tier whose limits are null is not limited: its requests
 * pass without headers. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byTier<const Per extends string = never, Tier extends string = string>(
  tiers: Readonly<Record<Tier, Policy<Per> | null>>,
  select: (request: Request) => NoInfer<Tier> | Promise<NoInfer<Tier>>,
): TierPolicy<Request, Per> {
  return tiersOf(tiers, select);
}
