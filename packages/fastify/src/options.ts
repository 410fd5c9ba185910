import type { GuardOptions } from "@headgate/core/http";
import * as http from "@headgate/core/http";
import type { PolicyFunctions } from "@headgate/core/internal-http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OnDenied } from "./on-denied.ts";

/** The hooks in which a request can be decided. */
export const HOOKS = ["onRequest", "preParsing", "preValidation", "preHandler"] as const;

/** The name of a hook in which a request can be decided. */
export type HookName = (typeof HOOKS)[number];

type FastifyGuardOptions<Dimension extends string> = GuardOptions<
  FastifyRequest,
  Dimension,
  FastifyReply,
  OnDenied | "error"
>;

/**
 * Options of the plugin. Without `limits` and `limiter` it limits only the routes that have their own. A function `count` gets
 * `(request, reply)`.
 */
export interface HeadgateOptions<Dimension extends string = string>
  extends FastifyGuardOptions<Dimension> {
  /** When a request is decided. Default `"onRequest"`; a key that an authentication hook sets needs a later one. */
  readonly hook?: HookName | undefined;
}

/** Options of a route, which inherits all others from the plugin. Without `limits` or `limiter` it uses the plugin's limiter. */
export interface RouteRateLimitOptions extends FastifyGuardOptions<string> {
  /** When a request is decided. Default: the plugin's. */
  readonly hook?: HookName | undefined;
  /**
   * Decides the plugin's and the route's limits as one: a request is charged only if every limit of both allows it. Default
   * false.
   */
  readonly extend?: boolean | undefined;
}

type Functions = PolicyFunctions<FastifyRequest>;

/** Counts by several keys together: `combineKeys(byIp(), (request) => request.user.email)`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (request) => request.user.plan)`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (request) => request.customer.limits)`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
