import type { Limiter } from "@headgate/core";
import type { HttpGuard, RequestDecision } from "@headgate/core/http";
import type { GuardLimiters } from "@headgate/core/internal-http";
import { invalidOption } from "@headgate/core/internal-http";
import type { FastifyRequest } from "fastify";
import type { Done, Rule } from "./rule.ts";

/** The rate limiter of a scope, as `app.headgate`. */
export interface Headgate extends Pick<HttpGuard<object>, "resetClient"> {
  /**
   * The plugin's limiter, for `reset`, `charge`, `peek`. Throws `HEADGATE_INVALID_OPTION` if its limits are `byTier`. Undefined
   * if the plugin has no limits, which its type does not show: applications know whether they gave any.
   */
  readonly limiter: Limiter;
  /** The limiter of each tier, if the plugin's limits are `byTier`. */
  readonly tiers: ReadonlyMap<string, Limiter>;
  /**
   * Returns the decision of the plugin, or of the route's own config, on a request, whatever other limiters decided it, too;
   * undefined if no limiter was called, for example because of `skip`.
   */
  decisionOf(request: object): RequestDecision | undefined;
  /**
   * Prepares the stores of the plugin and its routes for the first request, as the plugin does by itself before the application listens.
   * Resolves with whether all are available.
   */
  ready(): Promise<boolean>;
}

/** A route hook that limits requests. Its types are structural, so that it fits every server and type provider. */
export interface RateLimitHook extends Pick<HttpGuard<object>, "decisionOf" | "resetClient"> {
  (request: object, reply: object, done: Done): void;
}

/** `limiters` are the plugin's, if it has limits. `findRule` returns the rule of a request; undefined for one that is not limited. */
export function createHeadgate(
  limiters: GuardLimiters | undefined,
  findRule: (request: FastifyRequest) => Rule | undefined,
  ready: () => Promise<boolean>,
): Headgate {
  return {
    ready,
    get limiter() {
      if (limiters === undefined) return undefined as never;
      if (limiters.single !== undefined) return limiters.single;
      throw invalidOption("the limits of this plugin depend on the tier: use app.headgate.tiers");
    },
    tiers: limiters?.tiers ?? new Map(),
    decisionOf: (request) => findRule(request as FastifyRequest)?.guard.decisionOf(request),
    resetClient: async (request) =>
      (await findRule(request as FastifyRequest)?.guard.resetClient(request)) ?? false,
  };
}
