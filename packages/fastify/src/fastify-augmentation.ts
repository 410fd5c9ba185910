import type { Decision } from "@headgate/core";
import type { Headgate, RateLimitHook } from "./headgate.ts";
import type { RouteRateLimitOptions } from "./options.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The binding decision among all those on this request so far; null before the first. */
    rateLimit: Decision | null;
  }

  interface FastifyContextConfig {
    /** The route's own rate limit, what it changes in the plugin's, or `false` for none. */
    rateLimit?: RouteRateLimitOptions | false;
  }

  interface FastifyInstance {
    /** The rate limiter of this scope. */
    headgate: Headgate;
    /** Creates a route hook that makes another decision; without options it uses the plugin's limiter. */
    rateLimit(options?: RouteRateLimitOptions): RateLimitHook;
  }
}
