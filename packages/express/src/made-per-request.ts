import type { Warn } from "@headgate/core/http";
import type { Request } from "express";

/** So many, and it is no longer one for each tenant that is made when it is needed first. */
const MANY = 10;

/** How many an application has made while it handled requests, and used at once. */
const counts = new WeakMap<object, number>();

/**
 * Warns, once for an application, of middleware that is made for each request. Where each counts for itself, none of them meets
 * a second request, and nobody is limited. Returns what is to be called with each request.
 */
export function watchMaking(warn: Warn): (request: Request) => void {
  let isNew = true;
  // What is made for a request is called in the same turn, and what serves an application never is.
  queueMicrotask(() => {
    isNew = false;
  });
  return (request) => {
    if (!isNew || request.app === undefined) return;
    isNew = false;
    const count = (counts.get(request.app) ?? 0) + 1;
    counts.set(request.app, count);
    if (count < MANY) return;
    warn(
      "HEADGATE_MADE_PER_REQUEST",
      `rateLimit(...) was called in handlers ${count} times; each call makes middleware with counts of its own, so if it is called for each request nobody is limited; call it once, outside of the handlers, or give it a store and a name`,
      request,
    );
  };
}
