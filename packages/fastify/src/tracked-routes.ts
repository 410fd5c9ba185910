import { subscribe } from "node:diagnostics_channel";
import { fingerprint, invalidOption, shareInProcess } from "@headgate/core/internal-http";
import type { FastifyInstance, RouteOptions } from "fastify";

/** A route with its options, and the scope in which it was added. */
export interface TrackedRoute {
  readonly scope: FastifyInstance;
  readonly options: RouteOptions;
}

/** Under this key a route's config has the route, so that requests can find it. */
const ROUTE: unique symbol = Symbol.for("@headgate/fastify.route") as never;

type MarkedConfig = NonNullable<RouteOptions["config"]> & { [ROUTE]?: TrackedRoute };

/** Shared by every copy of this package in the process, because they all see the same routes. */
const { routesByServer, trackedServers, limitedServers } = shareInProcess("fastifyRoutes", () => ({
  routesByServer: new WeakMap<object, Set<TrackedRoute>>(),
  /** The applications whose routes are all tracked. */
  trackedServers: new WeakSet<object>(),
  /** The applications on which a plugin of Headgate runs, in any scope. */
  limitedServers: new WeakSet<object>(),
}))();

/*
 * A plugin runs after the routes that were added before it, in the same scope even if its registration comes first and is
 * not awaited, and an onRoute hook of its own never sees them. So routes are tracked from the moment an application is created,
 * which Fastify publishes on this channel.
 */
subscribe("fastify.initialization", (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  trackedServers.add(fastify.server);
  fastify.addHook("onRoute", function (this: FastifyInstance, options) {
    trackRoute(this, options);
  });
  fastify.addHook("onReady", async () => rejectUncoveredRoutes(fastify));
});

/** Records that a plugin of Headgate runs in an application. */
export function markLimited({ server }: FastifyInstance): void {
  limitedServers.add(server);
}

/** Options that no other rate limiter of Fastify has, so they are for Headgate even if another plugin may read the config. */
const HEADGATE_OPTIONS = ["limits", "limiter", "extend", "cost", "count", "missingKey"];

/**
 * Throws `HEADGATE_INVALID_OPTION` for a route with a rate limit that no plugin will ever read: it would be silently
 * unlimited.
 */
export function rejectUncoveredRoutes(app: FastifyInstance): void {
  const hasPlugin = limitedServers.has(app.server);
  for (const { scope, options } of routesIn(app)) {
    const limit: unknown = options.config?.rateLimit;
    if ("headgate" in scope || limit === false) continue;
    // The decorator of @fastify/rate-limit.
    const mayBeForOther = !hasPlugin || "rateLimit" in scope;
    if (mayBeForOther && !HEADGATE_OPTIONS.some((option) => option in Object(limit))) continue;
    throw invalidOption(
      `headgate: the route${routeName("", options)} has config.rateLimit, but no headgate plugin is registered in its scope or in one around it, so it would not be limited; register the plugin there`,
    );
  }
}

/** Tracks a route that has a rate limit in its config. */
export function trackRoute(scope: FastifyInstance, options: RouteOptions): void {
  const { config } = options;
  if (config?.rateLimit === undefined || trackedRouteOf(config)?.options === options) return;
  const routes = routesByServer.get(scope.server) ?? new Set();
  const get = options.method === "HEAD" ? findGetRoute(routes, scope, options) : undefined;
  const route = get ?? { scope, options };
  const marked: MarkedConfig = { ...config, [ROUTE]: route };
  options.config = marked;
  routesByServer.set(scope.server, routes.add(route));
}

/** Forgets a route that is rejected: Fastify does not add it either. */
export function untrackRoute(scope: FastifyInstance, { config }: RouteOptions): void {
  const route = config && trackedRouteOf(config);
  if (route !== undefined) routesByServer.get(scope.server)?.delete(route);
}

/**
 * The GET route that a HEAD route belongs to. Fastify adds one for each GET route, from a copy of its options and right after it,
 * so the newest are checked first.
 */
function findGetRoute(
  routes: ReadonlySet<TrackedRoute>,
  scope: FastifyInstance,
  head: RouteOptions,
): TrackedRoute | undefined {
  return [...routes].findLast(
    ({ scope: itsScope, options: { method, url, constraints, config } }) =>
      itsScope === scope &&
      url === head.url &&
      constraints === head.constraints &&
      config?.rateLimit === head.config?.rateLimit &&
      [method].flat().includes("GET"),
  );
}

/** Whether every route of an application is tracked: not if it was created before Headgate was loaded. */
export function areRoutesTracked(scope: FastifyInstance): boolean {
  return trackedServers.has(scope.server);
}

/** The routes with a rate limit that were added to a scope, or inside it, so far. */
export function routesIn(scope: FastifyInstance): TrackedRoute[] {
  const routes = routesByServer.get(scope.server) ?? [];
  return [...routes].filter((route) => isWithin(route.scope, scope));
}

/** The route that a config belongs to; undefined for one that was added before Headgate was loaded. */
export function trackedRouteOf(config: object): TrackedRoute | undefined {
  return (config as MarkedConfig)[ROUTE];
}

/** Scopes inherit from the scope in which they were created. */
function isWithin(scope: FastifyInstance, outer: FastifyInstance): boolean {
  return scope === outer || Object.prototype.isPrototypeOf.call(outer, scope);
}

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
