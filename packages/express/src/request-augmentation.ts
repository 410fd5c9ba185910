import type { Decision } from "@headgate/core";

declare global {
  namespace Express {
    interface Request {
      /** The decision that binds among all that were taken of this request so far. */
      rateLimit?: Decision;
    }
  }
}
