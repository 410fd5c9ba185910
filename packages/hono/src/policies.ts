import type { ByHeaderOptions, ByIpOptions, KeyFunction } from "@headgate/core/http";
import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { Context } from "hono";
import type { HonoRequest } from "./connection.ts";

/**
 * Counts by client address, as the server gives it. IPv4 counts per address, or per network
 * of `ipv4Prefix` bits, also where it is inside IPv6; IPv6 counts per network of `ipv6Prefix` bits. Throws
 * `HEADGATE_INVALID_OPTION`.
 */
export function byIp(options?: ByIpOptions): KeyFunction<Context> {
  return http.byIp(options) as KeyFunction<HonoRequest> as KeyFunction<Context>;
}

/**
 * Counts by the value of a request header, which is hashed with SHA-256 before it becomes a key. A header alone does not
 * identify a client, because each new value gets a new counter: also count by address. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byHeader(name: string, options?: ByHeaderOptions): KeyFunction<Context> {
  return http.byHeader(name, options) as KeyFunction<HonoRequest> as KeyFunction<Context>;
}

/**
 * Counts by several keys together, such as address and account: `combineKeys(byIp(), (c) => c.get("email"))`. Each combination
 * is a subject of its own; a request that lacks one of them has no key. Throws `HEADGATE_INVALID_OPTION`.
 */
export const combineKeys: PolicyFunctions<Context>["combineKeys"] = http.combineKeys as never;

/**
 * Chooses the limits by a request's tier; each tier has its own counters. `select` returns the name of one of the tiers,
 * or a promise of it. At run time a tier that does not exist is an error passed to the framework, `HEADGATE_UNKNOWN_TIER`,
 * never an unlimited request. A tier whose limits are null is not limited: its requests pass without headers. Throws
 * `HEADGATE_INVALID_OPTION`.
 */
export const byTier: PolicyFunctions<Context>["byTier"] = http.byTier;

/**
 * Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (c) => c.get("customer").limits)`. The function
 * returns limits that count by dimensions of the base, null for a request that is not limited, or a promise of either; any other
 * result is an error passed to the framework, `HEADGATE_INVALID_LIMIT`. The base's limits with other numbers keep the base's counts
 * and names. Limits of another shape (another window, another algorithm, more or fewer of them) have a counter of their own, at most
 * 64 shapes at a time: take them from your own data, never from the client, who could choose a fresh counter. Throws
 * `HEADGATE_INVALID_OPTION`; the base is checked when the limiter is created.
 */
export const perRequest: PolicyFunctions<Context>["perRequest"] = http.perRequest;
