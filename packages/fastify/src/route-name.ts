import { fingerprint } from "@headgate/core/internal-http";
import type { FastifyInstance, RouteOptions } from "fastify";

/** The parts of a route that name its counters. */
export type NamedRoute = Pick<RouteOptions, "method" | "url" | "constraints">;

/** The name of a route's counters: the plugin's name, method, path, constraints. GET and HEAD of a path are one. */
export function routeName(plugin: string, { method, url, constraints }: NamedRoute): string {
  const methods = [method].flat().map((one) => (one === "HEAD" ? "GET" : one));
  const conditions = Object.entries(constraints ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ` ${name}=${formatConstraint(value)}`);
  return `${plugin} ${[...new Set(methods)].sort().join(",")} ${url}${conditions.join("")}`;
}

/**
 * The name of a route whose constraints are unknown, because the application was created before Headgate was loaded: if any route
 * has constraints, its limits distinguish it from others of the same path. Routes with equal limits share a budget.
 */
export function untrackedRouteName(
  plugin: string,
  route: NamedRoute,
  limits: unknown,
  app: FastifyInstance,
): string {
  const name = routeName(plugin, route);
  const hasConstraints = app.printRoutes({ commonPrefix: false }).includes(') {"');
  return hasConstraints ? `${name} #${fingerprint(JSON.stringify([limits]))}` : name;
}

/** A strategy of the application's own may compare objects. */
function formatConstraint(value: unknown): string {
  return typeof value === "object" && !(value instanceof RegExp)
    ? JSON.stringify(value)
    : String(value);
}
