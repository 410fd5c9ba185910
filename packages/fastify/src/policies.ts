import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { FastifyRequest } from "fastify";

type Functions = PolicyFunctions<FastifyRequest>;

/** Counts by several keys together: `combineKeys(byIp(), (request) => request.user.email)`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (request) => request.user.plan)`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (request) => request.customer.limits)`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
