import type { Decision } from "@headgate/core";

declare module "hono" {
  interface ContextVariableMap {
    /** The binding decision among all those on this request so far. */
    rateLimit?: Decision;
  }
}
