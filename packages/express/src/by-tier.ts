import type { Policy } from "@headgate/core";
import type { TierPolicy } from "@headgate/core/http";
import { byTier as tiersOf } from "@headgate/core/http";
import type { Request } from "express";

/**
 * Chooses the limits by the tier a request belongs to; each tier has counters of its own. A tier that does not exist is an
 * error handed to the framework, `HEADGATE_UNKNOWN_TIER`, never an unlimited request. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byTier<const Per extends string = never>(
  tiers: Readonly<Record<string, Policy<Per>>>,
  select: (request: Request) => string | Promise<string>,
): TierPolicy<Request, Per> {
  return tiersOf(tiers, select);
}
