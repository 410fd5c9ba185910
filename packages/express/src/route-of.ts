import type { Request } from "express";

/**
 * The method and the route of a request as the application wrote it, such as `GET /users/:id`; undefined in middleware outside a route.
 * Express does not keep the pattern that a router was mounted at: if that has parameters, the path is as requested.
 */
export function routeOf({ method, baseUrl, route }: Request): string | undefined {
  return route === undefined ? undefined : `${method} ${baseUrl}${route.path}`;
}
