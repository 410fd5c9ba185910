import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { ExecutionContext } from "@nestjs/common";

type Functions = PolicyFunctions<ExecutionContext>;

/** Counts by client address, as the platform's proxy trust gives it. */
export const byIp: Functions["byIp"] = http.byIp as never;

/** Counts by the hashed value of a request header. */
export const byHeader: Functions["byHeader"] = http.byHeader as never;

/** Counts by several keys together: `combineKeys(byIp(), (context) => emailOf(context))`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys as never;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (context) => planOf(context))`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (context) => limitsFor(context))`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
