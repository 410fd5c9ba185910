import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { Context } from "hono";

type Functions = PolicyFunctions<Context>;

/** Counts by client address, as the server gives it. */
export const byIp: Functions["byIp"] = http.byIp as never;

/** Counts by the hashed value of a request header. */
export const byHeader: Functions["byHeader"] = http.byHeader as never;

/** Counts by several keys together: `combineKeys(byIp(), (c) => c.get("email"))`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys as never;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (c) => c.get("plan"))`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (c) => c.get("customer").limits)`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
