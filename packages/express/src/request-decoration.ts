import type { Decision } from "@headgate/core";
import { reportedDecision } from "@headgate/core/internal-http";
import type { Request } from "express";

/*
 * Express replaces the prototype of each request, after which V8 makes a new hidden class for every property that is added to the
 * request: 1.4 µs each on Node 20. So `req.rateLimit` is an accessor of Express's request, which finds the decision where all
 * adapters store it.
 */
const ACCESSOR = {
  configurable: true,
  get(this: object) {
    return reportedDecision(this);
  },
  // A value that the application or another library sets is read until the next decision.
  set(this: object, value: unknown) {
    const property = { value, configurable: true, enumerable: true, writable: true };
    Object.defineProperty(this, "rateLimit", property);
  },
};

/**
 * The prototypes of requests that show their decision by the accessor, each with Express's own, which has it: an application that
 * is mounted in one of another Express inherits from that one instead.
 */
export const decoratedPrototypes: WeakMap<object, object> = new WeakMap();

/** Puts the accessor on Express's request prototype, and returns whether this request shows its decision by it. */
export function decorateRequest(request: Request): boolean {
  const prototype: object = Object.getPrototypeOf(request);
  const shared = findSharedPrototype(prototype);
  if (shared === undefined) return false;
  // Refused if it is frozen.
  if (!("rateLimit" in shared)) Reflect.defineProperty(shared, "rateLimit", ACCESSOR);
  if (!hasAccessor(request)) return false;
  decoratedPrototypes.set(prototype, shared);
  return true;
}

/** Each application has a prototype for its requests, which inherits from Express's own: the last that has `subdomains`. */
function findSharedPrototype(prototype: object): object | undefined {
  let shared: object | undefined;
  for (let one = prototype; one !== null; one = Object.getPrototypeOf(one)) {
    if (Object.hasOwn(one, "subdomains")) shared = one;
  }
  return shared;
}

/** Whether a request has the accessor, and not a property that the application has put on it or on its prototypes. */
function hasAccessor(request: object): boolean {
  let one = request;
  while (one !== null && !Object.hasOwn(one, "rateLimit")) one = Object.getPrototypeOf(one);
  return one !== null && Object.getOwnPropertyDescriptor(one, "rateLimit")?.get === ACCESSOR.get;
}

declare global {
  namespace Express {
    interface Request {
      /** The binding decision among all those on this request so far. */
      rateLimit?: Decision;
    }
  }
}
