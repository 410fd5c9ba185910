import type { Decision } from "@headgate/core";

declare global {
  namespace Express {
    interface Request {
      /** The binding decision among all those on this request so far. */
      rateLimit?: Decision;
    }
  }
}
