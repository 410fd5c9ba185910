import type { RouteOptions } from "fastify";

/** What of a route names its counters. */
export type NamedRoute = Pick<RouteOptions, "method" | "url" | "constraints">;

/** The name of a route's counters: the plugin's name, method, path, constraints. GET and HEAD of a path are one. */
export function routeName(plugin: string, { method, url, constraints }: NamedRoute): string {
  const methods = [method].flat().map((one) => (one === "HEAD" ? "GET" : one));
  const conditions = Object.entries(constraints ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ` ${name}=${formatConstraint(value)}`);
  return `${plugin} ${[...new Set(methods)].sort().join(",")} ${url}${conditions.join("")}`;
}

/** A strategy of the application's own may compare objects. */
function formatConstraint(value: unknown): string {
  return typeof value === "object" && !(value instanceof RegExp)
    ? JSON.stringify(value)
    : String(value);
}
