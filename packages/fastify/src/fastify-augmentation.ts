import type { Decision } from "@headgate/core";
import type { Headgate, RateLimitHook } from "./headgate.ts";
import type { RouteRateLimitOptions } from "./options.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The decision that binds among all that were taken of this request so far; null before the first. */
    rateLimit: Decision | null;
  }

  interface FastifyContextConfig {
    /** The route's own rate limit, what it changes of the plugin's, or `false` for none. */
    rateLimit?: RouteRateLimitOptions | false;
  }

  interface FastifyInstance {
    /** The rate limiter of this scope. */
    headgate: Headgate;
    /** Makes a route hook that takes one more decision, or asks the plugin's limiter when it has no options. */
    rateLimit(options?: RouteRateLimitOptions): RateLimitHook;
  }
}
