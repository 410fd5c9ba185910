import type { HeadgateError } from "@headgate/core";
import { invalidOption, rejectUnusedKeys } from "@headgate/core/internal-http";
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from "fastify";
import fastifyPlugin from "fastify-plugin";
import { createWarn } from "./log.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import type { RateLimitHook } from "./plugin-rules.ts";
import { PluginRules } from "./plugin-rules.ts";
import { unlockFailedDenial } from "./reply.ts";
import type { Done } from "./rule.ts";
import { parseRoute, requireOwnLimits } from "./rule.ts";
import {
  areRoutesTracked,
  markLimited,
  rejectUncoveredRoutes,
  routeName,
  routesIn,
  trackRoute,
  untrackRoute,
} from "./tracked-routes.ts";

/**
 * The plugin: `app.register(headgate, { limits: gcra({ limit: 100, window: "1m" }) })`. Registration rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
export const headgate: FastifyPluginAsync<HeadgateOptions> = fastifyPlugin(headgatePlugin, {
  name: "@headgate/fastify",
  fastify: "5.x || 6.x",
});

/** Limits every request of a scope; without limits, only the routes that have their own. */
async function headgatePlugin(app: FastifyInstance, options: HeadgateOptions): Promise<void> {
  const warn = createWarn(app);
  const rules = new PluginRules(app, options, warn);
  const { rule, name } = rules.plugin;
  if (rule === undefined && Object.hasOwn(app, "headgate")) throw secondPluginError();
  markLimited(app);
  /** Whether all routes have been added. */
  let isReady = false;

  decorate(app, rules, (routeOptions) => {
    // A rule lives until the application is closed, so one for each request would fill the memory.
    if (routeOptions !== undefined && isReady) throw lateRateLimitError();
    const chosen =
      routeOptions === undefined && rule !== undefined
        ? rule
        : addHookRule(rules, routeOptions ?? {});
    const { decisionOf, resetClient } = chosen.guard;
    return Object.assign(toHook(chosen.decide), { decisionOf, resetClient });
  });
  app.addHook("onRoute", function (this: FastifyInstance, route) {
    try {
      readRoute(app, rules, this, route);
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
      if (!isLimited(limit) || !rules.isOwner(route.scope)) continue;
      rules.routeRuleOf(route, limit, () => routeName(name, route.options));
    }
    // The keys that unknown routes read are not known either.
    if (!areRoutesTracked(app)) rejectUncoveredRoutes(app);
    else if (rules.all.length > 0)
      rejectUnusedKeys("headgate", options.key, rules.limitersWithPluginKey);
    else warn("HEADGATE_NO_LIMITS", NOTHING_LIMITED, app);
    await rules.waitForStores();
  });
  app.addHook("onError", (_, reply, __, done) => {
    unlockFailedDenial(reply);
    done();
  });
  useHooks(app, rules);
  // Before the server closes, which waits for requests.
  app.addHook("preClose", async () => {
    for (const { guard } of rules.all) void guard.drain();
  });
  app.addHook("onClose", () => rules.close());
}

function addHookRule(rules: PluginRules, options: RouteRateLimitOptions) {
  const owner = "app.rateLimit";
  const settings = parseRoute(owner, options, rules.plugin);
  return rules.addRule(owner, settings, options.key === undefined);
}

/** Checks the limit of a new route, and adds the hook that it names. */
function readRoute(
  app: FastifyInstance,
  rules: PluginRules,
  routeScope: FastifyInstance,
  { url, config }: RouteOptions,
): void {
  const limit = config?.rateLimit;
  if (!isLimited(limit)) return;
  const owner = `headgate on ${url}`;
  const settings = parseRoute(owner, limit, rules.plugin);
  const isOwn = routeScope === app && rules.isOwner(app);
  // A scope inside may get a plugin of its own.
  if (rules.plugin.rule === undefined && isOwn) requireOwnLimits(owner, settings);
  useHook(app, rules, settings.hook);
}

function useHook(app: FastifyInstance, rules: PluginRules, hook: HookName): void {
  if (rules.usedHooks.has(hook)) return;
  rules.usedHooks.add(hook);
  const decide = toHook((request, reply, done) => rules.decideIn(hook, request, reply, done));
  app.addHook(hook as "onRequest", decide);
}

/** Uses the hooks of the plugin, and of routes that exist already. */
function useHooks(app: FastifyInstance, rules: PluginRules): void {
  // Anything but options is rejected once all routes exist.
  const named = routesIn(app).map(({ options }) => Object(options.config?.rateLimit).hook);
  for (const hook of HOOKS) {
    // An unknown route may name any of them.
    const isNamed = !areRoutesTracked(app) || named.includes(hook);
    if (hook === "onRequest" || hook === rules.plugin.hook || isNamed) useHook(app, rules, hook);
  }
}

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
  { headgate }: PluginRules,
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

const NOTHING_LIMITED =
  "headgate: neither the plugin nor any of its routes has limits, so no request is limited; give limits to the plugin, or to routes in config.rateLimit or with app.rateLimit";
