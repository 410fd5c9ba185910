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
 * Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (req) => req.customer.limits)`. The function
 * returns limits that count by dimensions of the base, null for a request that is not limited, or a promise of either. The
 * base's limits with other numbers keep the base's counts and names. Limits of another shape (another window, another
 * algorithm, more or fewer of them) have a counter of their own, so a client that could choose the shape could choose a fresh
 * counter: take limits from your own data, never from the client. At most 64 shapes besides the base's are in use at a time.
 *
 * Any other result is an error passed to the framework, `HEADGATE_INVALID_LIMIT`, never an unlimited request. Throws
 * `HEADGATE_INVALID_OPTION`; the base is checked when the limiter is created.
 */
export function perRequest<const Per extends string = never>(
  base: Policy<Per>,
  limitsOf: (
    request: Request,
  ) => Policy<NoInfer<Per>> | null | Promise<Policy<NoInfer<Per>> | null>,
): RequestPolicy<Request, Per> {
  return http.perRequest(base, limitsOf);
}
