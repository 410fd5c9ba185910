import type { Policy } from "@headgate/core";
import type { KeyFunction, RequestPolicy, TierPolicy } from "@headgate/core/http";
import * as http from "@headgate/core/http";
import type { Request } from "express";

/**
 * Counts by several keys together, such as address and account: `combineKeys(byIp(), (req) => req.body.email)`. Each combination
 * is a subject of its own; a request that lacks one of them has no key. Throws `HEADGATE_INVALID_OPTION`.
 */
export function combineKeys(...keys: readonly KeyFunction<Request>[]): KeyFunction<Request> {
  return http.combineKeys(...keys);
}

/**
 * Chooses the limits by a request's tier; each tier has its own counters. `select` returns the name of one of the tiers,
 * or a promise of it; another name does not compile. At run time a tier that does not exist is an error passed to the
 * framework, `HEADGATE_UNKNOWN_TIER`, never an unlimited request. A tier whose limits are null is not limited: its
 * requests pass without headers. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byTier<const Per extends string = never, Tier extends string = string>(
  tiers: Readonly<Record<Tier, Policy<Per> | null>>,
  select: (request: Request) => NoInfer<Tier> | Promise<NoInfer<Tier>>,
): TierPolicy<Request, Per> {
  return http.byTier(tiers, select);
}

/**
 * Takes the numbers of limits from the request. `base` sets algorithms, windows, dimensions and names; `limitsOf` returns
 * the same limits with other numbers of units, or null for a request that is not limited, or a promise of either. Counts
 * stay when the numbers change. Anything else that it returns is an error passed to the framework,
 * `HEADGATE_INVALID_LIMIT`, never an unlimited request. Throws `HEADGATE_INVALID_OPTION`.
 */
export function perRequest<const Per extends string = never>(
  base: Policy<Per>,
  limitsOf: (
    request: Request,
  ) => Policy<NoInfer<Per>> | null | Promise<Policy<NoInfer<Per>> | null>,
): RequestPolicy<Request, Per> {
  return http.perRequest(base, limitsOf);
}
