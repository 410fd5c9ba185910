import type { HeadgateError } from "@headgate/core";
import { invalidOption, rejectUnusedKeys } from "@headgate/core/internal-http";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { RateLimitHook } from "./headgate.ts";
import { createWarn } from "./log.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import { routeName } from "./route-name.ts";
import type { Done } from "./rule.ts";
import { parseRoute, requireOwnLimits } from "./rule.ts";
import { PluginScope } from "./scope.ts";
import {
  areRoutesTracked,
  markLimited,
  rejectUncoveredRoutes,
  routesIn,
  trackRoute,
  untrackRoute,
} from "./tracked-routes.ts";
import { unlockFailedDenial } from "./watched-reply.ts";

/** Limits every request of a scope; without limits, only the routes that have their own. */
export async function headgatePlugin(
  app: FastifyInstance,
  options: HeadgateOptions,
): Promise<void> {
  const warn = createWarn(app);
  const scope = new PluginScope(app, options, warn);
  const { rule, name } = scope.plugin;
  if (rule === undefined && Object.hasOwn(app, "headgate")) throw secondPluginError();
  markLimited(app);
  /** Whether all routes have been added. */
  let isReady = false;

  decorate(app, scope, (routeOptions) => {
    // A rule lives until the application is closed, so one for each request would fill the memory.
    if (routeOptions !== undefined && isReady) throw lateRateLimitError();
    const chosen =
      routeOptions === undefined && rule !== undefined
        ? rule
        : addHookRule(scope, routeOptions ?? {});
    const { decisionOf, resetClient } = chosen.guard;
    return Object.assign(toHook(chosen.decide), { decisionOf, resetClient });
  });
  app.addHook("onRoute", function (this: FastifyInstance, route) {
    try {
      readRoute(app, scope, this, route);
    } catch (error) {
      untrackRoute(this, route);
      throw error;
    }
    trackRoute(this, route);
  });
  // Not before all scopes exist: one of them may have its own plugin, which then reads its routes' config.
  app.addHook("onReady", async () => {
    isReady = true;
    for (const route of routesIn(app)) {
      const limit = route.options.config?.rateLimit;
      if (!isLimited(limit) || !scope.isOwner(route.scope)) continue;
      scope.routeRuleOf(route, limit, () => routeName(name, route.options));
    }
    // The keys that unknown routes read are not known either.
    if (!areRoutesTracked(app)) rejectUncoveredRoutes(app);
    else if (scope.rules.length > 0)
      rejectUnusedKeys("headgate", options.key, scope.limitersWithPluginKey);
    else warn("HEADGATE_NO_LIMITS", NOTHING_LIMITED, app);
    await scope.waitForStores();
  });
  app.addHook("onError", (_, reply, __, done) => {
    unlockFailedDenial(reply);
    done();
  });
  useHooks(app, scope);
  // Before the server closes, which waits for requests.
  app.addHook("preClose", async () => {
    for (const { guard } of scope.rules) void guard.drain();
  });
  app.addHook("onClose", () => scope.close());
}

function addHookRule(scope: PluginScope, options: RouteRateLimitOptions) {
  const owner = "app.rateLimit";
  const settings = parseRoute(owner, options, scope.plugin);
  return scope.addRule(owner, settings, options.key === undefined);
}

/** Checks the limit of a new route, and adds the hook that it names. */
function readRoute(
  app: FastifyInstance,
  scope: PluginScope,
  routeScope: FastifyInstance,
  { url, config }: RouteOptions,
): void {
  const limit = config?.rateLimit;
  if (!isLimited(limit)) return;
  const owner = `headgate on ${url}`;
  const settings = scope.settingsOf(owner, limit);
  const isOwn = routeScope === app && scope.isOwner(app);
  // A scope inside may get a plugin of its own.
  if (scope.plugin.rule === undefined && isOwn) requireOwnLimits(owner, settings);
  useHook(app, scope, settings.hook);
}

function useHook(app: FastifyInstance, scope: PluginScope, hook: HookName): void {
  if (scope.usedHooks.has(hook)) return;
  scope.usedHooks.add(hook);
  const decide = toHook((request, reply, done) => scope.decideIn(hook, request, reply, done));
  app.addHook(hook as "onRequest", decide);
}

/** Uses the hooks of the plugin, and of routes that exist already. */
function useHooks(app: FastifyInstance, scope: PluginScope): void {
  // Anything but options is rejected once all routes exist.
  const named = routesIn(app).map(({ options }) => Object(options.config?.rateLimit).hook);
  for (const hook of HOOKS) {
    // An unknown route may name any of them.
    const isNamed = !areRoutesTracked(app) || named.includes(hook);
    if (hook === "onRequest" || hook === scope.plugin.hook || isNamed) useHook(app, scope, hook);
  }
}

const NOTHING_LIMITED =
  "headgate: neither the plugin nor any of its routes has limits, so no request is limited; give limits to the plugin, or to routes in config.rateLimit or with app.rateLimit";

/** Whether a route has options; any other value must not count as none. */
function isLimited(
  limit: RouteRateLimitOptions | false | undefined,
): limit is RouteRateLimitOptions {
  return limit !== undefined && limit !== false;
}

/** A hook for any point in a request's life: preParsing passes a payload before `done`. */
function toHook(
  decide: (request: FastifyRequest, reply: FastifyReply, done: Done) => void,
): (request: object, reply: object, done: Done) => void {
  return (request: object, reply: object, payload: unknown, done = payload) => {
    if (typeof done !== "function") throw missingDoneError(done);
    decide(request as FastifyRequest, reply as FastifyReply, done as Done);
  };
}

/** Without `done`, the request can neither continue nor fail. */
function missingDoneError(received: unknown): HeadgateError {
  return invalidOption(
    `app.rateLimit: the hook must be called as (request, reply, done), got ${typeof received} for done; put it in a route's hooks, or call app.headgate.limiter.consume(subject) yourself`,
  );
}

/** A second plugin in the same scope does not replace it: the first one reads the routes' config. */
function decorate(
  app: FastifyInstance,
  { headgate }: PluginScope,
  rateLimit: (options?: RouteRateLimitOptions) => RateLimitHook,
): void {
  if (Object.hasOwn(app, "headgate")) return;
  app.decorate("headgate", headgate);
  app.decorate("rateLimit", rateLimit);
  if (!app.hasRequestDecorator("rateLimit")) app.decorateRequest("rateLimit", null);
}

/** If another plugin reads the routes' config, a plugin without limits has nothing to do. */
function secondPluginError(): HeadgateError {
  return invalidOption(
    "headgate: limits or a limiter is required for a second plugin in one scope, because the first one reads the config of its routes",
  );
}

function lateRateLimitError(): HeadgateError {
  return invalidOption(
    "app.rateLimit: the application is ready, so no more routes can be added that use this hook; call app.rateLimit once, where the routes are added, or call a limiter created by createLimiter in the handler",
  );
}
