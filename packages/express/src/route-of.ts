import type { Request } from "express";

/**
 * The method and the route of a request as it was written, as in `GET /users/:id`; undefined in middleware that is no route's own.
 * Express does not keep the pattern that a router was mounted at: where that has parameters, it is the path as requested.
 */
export function routeOf({ method, baseUrl, route }: Request): string | undefined {
  return route === undefined ? undefined : `${method} ${baseUrl}${route.path}`;
}
