import type { CountOption, GuardOptions } from "@headgate/core/http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OnDenied } from "./on-denied.ts";

/** The hooks in which a request can be decided. */
export const HOOKS = ["onRequest", "preParsing", "preValidation", "preHandler"] as const;

export type HookName = (typeof HOOKS)[number];

interface FastifyGuardOptions<Dimension extends string>
  extends GuardOptions<FastifyRequest, Dimension> {
  /** Answers denied requests in your way; `"error"` hands a `HeadgateDenied` to the application's error handler. */
  readonly onDenied?: OnDenied | "error" | undefined;
  /** Which answers count; a function gets `(request, reply)` at the end of an answer. */
  readonly count?: CountOption<FastifyRequest, FastifyReply> | undefined;
}

/** Options of the plugin. docs/reference/options.md has each. Without `limits` and `limiter` it limits only the routes that have their own. */
export interface HeadgateOptions<Dimension extends string = string>
  extends FastifyGuardOptions<Dimension> {
  /** When a request is decided. Default `"onRequest"`; a key that an authentication hook sets needs a later one. */
  readonly hook?: HookName | undefined;
}

/** Options of a route: what is not named is the plugin's. Without `limits` or `limiter` it is the plugin's limiter. */
export interface RouteRateLimitOptions extends FastifyGuardOptions<string> {
  readonly hook?: HookName | undefined;
  /** Decides the plugin's limits and the route's together: all allow, or nothing is charged. */
  readonly extend?: boolean | undefined;
}
