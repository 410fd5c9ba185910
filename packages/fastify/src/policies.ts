import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { FastifyRequest } from "fastify";

/**
 * Counts by several keys together, such as address and account: `combineKeys(byIp(), (request) => request.user.email)`. Each combination
 * is a subject of its own; a request that lacks one of them has no key. Throws `HEADGATE_INVALID_OPTION`.
 */
export const combineKeys: PolicyFunctions<FastifyRequest>["combineKeys"] = http.combineKeys;

/**
 * Chooses the limits by a request's tier; each tier has its own counters. `select` returns the name of one of the tiers,
 * or a promise of it. At run time a tier that does not exist is an error passed to the framework, `HEADGATE_UNKNOWN_TIER`,
 * never an unlimited request. A tier whose limits are null is not limited: its requests pass without headers. Throws
 * `HEADGATE_INVALID_OPTION`.
 */
export const byTier: PolicyFunctions<FastifyRequest>["byTier"] = http.byTier;

/**
 * Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (request) => request.customer.limits)`. The function
 * returns limits that count by dimensions of the base, null for a request that is not limited, or a promise of either; any other
 * result is an error passed to the framework, `HEADGATE_INVALID_LIMIT`. The base's limits with other numbers keep the base's counts
 * and names. Limits of another shape (another window, another algorithm, more or fewer of them) have a counter of their own, at most
 * 64 shapes at a time: take them from your own data, never from the client, who could choose a fresh counter. Throws
 * `HEADGATE_INVALID_OPTION`; the base is checked when the limiter is created.
 */
export const perRequest: PolicyFunctions<FastifyRequest>["perRequest"] = http.perRequest;
