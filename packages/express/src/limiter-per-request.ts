import type { Warn } from "@headgate/core/http";
import type { Request } from "express";

/** From this number on, the middleware is not one for each tenant, created when first needed. */
const WARN_FROM = 10;

/** The number of middlewares that an application has created while it handled requests, and used at once. */
const counts = new WeakMap<object, number>();

/**
 * Warns, once for an application, about middleware without a store that is created for each request. Each has its own
 * counters and sees a single request, so nothing is limited. With a name and a store, they share one limiter.
 * Call `note` with a request while `isNew`.
 */
export function detectPerRequestLimiter(warn: Warn): {
  isNew: boolean;
  note(request: Request): void;
} {
  const detector = {
    isNew: true,
    note(request: Request): void {
      if (request.app === undefined) return;
      detector.isNew = false;
      const count = (counts.get(request.app) ?? 0) + 1;
      counts.set(request.app, count);
      if (count < WARN_FROM) return;
      warn(
        "HEADGATE_CREATED_PER_REQUEST",
        `rateLimit(...) was called in handlers ${count} times; without a store, each call has counters of its own, so a call for each request limits nothing; call it once, outside the handlers, or give it a name and a store that is created once`,
        request,
      );
    },
  };
  // Middleware created for a request is called in the same turn; middleware of an application never is.
  queueMicrotask(() => {
    detector.isNew = false;
  });
  return detector;
}
