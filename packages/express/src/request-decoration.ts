import type { Decision } from "@headgate/core";
import { shownDecision } from "@headgate/core/internal-http";
import type { Request } from "express";

/*
 * Express gives each request another prototype, after which V8 makes a new hidden class for every property that is added to the
 * request: 1.4 µs on Node 20, a tenth of what the middleware takes. So `req.rateLimit` is an accessor of Express's request, which
 * finds the decision where all adapters keep it.
 */

/** The prototypes of requests seen so far, and whether requests with them show their decision without a property of their own. */
export const decorated: WeakMap<object, boolean> = new WeakMap();

/** Shows a decision on a request, and lets the next requests of its kind show theirs by themselves. */
export function showDecision(request: Request, decision: Decision): void {
  const prototype: object = Object.getPrototypeOf(request);
  if (!decorated.has(prototype)) decorated.set(prototype, decorate(prototype));
  request.rateLimit = decision;
}

/** Returns whether it could: not for a prototype of another framework, or of an Express that is frozen. */
function decorate(prototype: object): boolean {
  // Each application has a prototype of its own, which inherits from Express's: the last that has `header`.
  let shared: object | undefined;
  for (let one = prototype; one !== null; one = Object.getPrototypeOf(one)) {
    if (Object.hasOwn(one, "header")) shared = one;
  }
  if (shared === undefined) return false;
  return Reflect.defineProperty(shared, "rateLimit", {
    configurable: true,
    get(this: object) {
      return shownDecision(this);
    },
    // What the application or another library sets is read until the next decision.
    set(this: object, value: unknown) {
      const property = { value, configurable: true, enumerable: true, writable: true };
      Object.defineProperty(this, "rateLimit", property);
    },
  });
}
