import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { Request } from "express";

type Functions = PolicyFunctions<Request>;

/** Counts by several keys together: `combineKeys(byIp(), (req) => req.body.email)`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (req) => req.user.plan)`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (req) => req.customer.limits)`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
