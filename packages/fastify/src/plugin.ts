import type { Limiter } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { Warn } from "@headgate/core/http";
import { areReady, formatReceived, isFirst, rejectUnreadKeys, toError } from "@headgate/core/http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { awaitStores } from "./await-stores.ts";
import type { Done } from "./decide-request.ts";
import { decideRequest } from "./decide-request.ts";
import type { Headgate, RateLimitHook } from "./headgate.ts";
import { createHeadgate } from "./headgate.ts";
import {
  areRoutesKnown,
  forgetRoute,
  notePlugin,
  noteRoute,
  rejectUncoveredRoutes,
  routeOf,
  routesIn,
} from "./known-routes.ts";
import { writeNotice } from "./operator-log.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import { routeName, unknownRouteName } from "./route-name.ts";
import type { Rule } from "./rule.ts";
import { makePluginRule, makeRouteRule, requireOwnLimits, validateRouteOptions } from "./rule.ts";
import { logStores } from "./store-log.ts";
import { reopen } from "./watched-reply.ts";

/** Limits every request of a scope; without limits, only the routes that have their own. */
export async function headgatePlugin(
  app: FastifyInstance,
  options: HeadgateOptions,
): Promise<void> {
  // Several plugins may run on one server.
  const warn: Warn = (code, message, _, reason) => {
    if (!isFirst(app.server, code)) return;
    const error = reason === undefined ? undefined : toError(reason);
    writeNotice(app, { level: "warn", code, message, error });
  };
  const plugin = makePluginRule("headgate", options, warn);
  const { rule, name: pluginName } = plugin;
  if (rule === undefined && Object.hasOwn(app, "headgate")) throw withoutRoutes();
  notePlugin(app);
  const made: Rule[] = [];
  const headgate = createHeadgate(rule?.limiters, ruleOf, () => areReady(limitersIn(made)));
  /** The limiters that are asked with the plugin's keys. */
  const keyed: Limiter[] = [];
  const storeLog = logStores(app);
  if (rule !== undefined) addMade(rule, true);
  /** Rules by their route, or by its config if the route is not known. */
  const routeRules = new WeakMap<object, Rule>();
  /** The hooks in which any rule decides: an unused hook would cost every request time. */
  const usedHooks = new Set<HookName>();
  /** Whether all routes are there. */
  let isReady = false;

  function addMade(added: Rule, isKeyed: boolean): void {
    made.push(added);
    if (isKeyed) keyed.push(...added.limiters.all);
    storeLog.listen(added.limiters);
  }

  function addRule(owner: string, routeOptions: RouteRateLimitOptions, name?: string): Rule {
    const added = makeRouteRule(owner, routeOptions, name, plugin, warn);
    addMade(added, routeOptions.key === undefined);
    return added;
  }

  function routeRuleOf(key: object, limit: RouteRateLimitOptions, nameOf: () => string): Rule {
    const known = routeRules.get(key);
    if (known !== undefined) return known;
    const name = nameOf();
    const owner = `headgate on ${name}`;
    validateRouteOptions(owner, limit);
    // Better no answer than an unlimited one.
    if (!usedHooks.has(limit.hook ?? plugin.hook)) throw lateHook(owner, limit.hook);
    const added = addRule(owner, limit, name);
    routeRules.set(key, added);
    return added;
  }

  /** The innermost plugin reads a route's config; the outer ones only count. */
  function isOwner(scope: FastifyInstance): boolean {
    return scope.headgate === headgate;
  }

  function ruleOf(request: FastifyRequest): Rule | undefined {
    const { config, method, url } = request.routeOptions;
    const limit = config?.rateLimit;
    if (limit === undefined) return rule;
    if (limit === false) return undefined;
    if (!isOwner(request.server)) return rule;
    const known = routeOf(config);
    if (known !== undefined) {
      return routeRuleOf(known, limit, () => routeName(pluginName, known.options));
    }
    const route = { method: method ?? "GET", url: url ?? "" };
    return routeRuleOf(config, limit, () => unknownRouteName(pluginName, route, limit.limits, app));
  }

  /** Every request comes through here in each hook that is used, first in `onRequest`. */
  function decideIn(
    hook: HookName,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void {
    // A scope that was created before the plugin loaded lacks the decorator's default.
    if (request.rateLimit === undefined) request.rateLimit = null;
    let applied: Rule | undefined;
    let failure: Error | undefined;
    try {
      applied = ruleOf(request);
    } catch (error) {
      failure = toError(error);
    }
    if (applied?.hook !== hook) done(failure);
    else decideRequest(applied, request, reply, done);
  }

  function useHook(hook: HookName): void {
    if (usedHooks.has(hook)) return;
    usedHooks.add(hook);
    const decide = hookOf((request, reply, done) => decideIn(hook, request, reply, done));
    app.addHook(hook as "onRequest", decide);
  }

  decorate(app, headgate, (routeOptions) => {
    // Kept until the application is closed: one for each request would fill the memory.
    if (routeOptions !== undefined && isReady) throw lateRateLimit();
    const isPlugins = routeOptions === undefined && rule !== undefined;
    const asked = isPlugins ? rule : addRule("app.rateLimit", routeOptions ?? {});
    const hook = hookOf((request, reply, done) => decideRequest(asked, request, reply, done));
    return Object.assign(hook, { of: asked.guard.of });
  });
  app.addHook("onRoute", function (this: FastifyInstance, routeOptions) {
    const limit = routeOptions.config?.rateLimit;
    try {
      if (isLimited(limit)) {
        const owner = `headgate on ${routeOptions.url}`;
        validateRouteOptions(owner, limit);
        // A scope inside may get a plugin of its own.
        if (rule === undefined && this === app && isOwner(app)) requireOwnLimits(owner, limit);
        useHook(limit.hook ?? plugin.hook);
      }
    } catch (error) {
      forgetRoute(this, routeOptions);
      throw error;
    }
    noteRoute(this, routeOptions);
  });
  // Not before all scopes exist: one of them may have its own plugin, which then reads its routes' config.
  app.addHook("onReady", async () => {
    isReady = true;
    for (const route of routesIn(app)) {
      const limit = route.options.config?.rateLimit;
      if (!isLimited(limit) || !isOwner(route.scope)) continue;
      routeRuleOf(route, limit, () => routeName(pluginName, route.options));
    }
    // What unknown routes read is not known either.
    if (!areRoutesKnown(app)) rejectUncoveredRoutes(app);
    else if (made.length > 0) rejectUnreadKeys("headgate", options.key, keyed);
    else warn("HEADGATE_NOTHING_LIMITED", NOTHING_LIMITED, app);
    await awaitStores(app, limitersIn(made));
  });
  app.addHook("onError", (_, reply, __, done) => {
    reopen(reply);
    done();
  });
  // Anything but options is refused once all routes exist.
  const named = routesIn(app).map(({ options }) => Object(options.config?.rateLimit).hook);
  for (const hook of HOOKS) {
    // An unknown route may name any of them.
    const isNamed = !areRoutesKnown(app) || named.includes(hook);
    if (hook === "onRequest" || hook === plugin.hook || isNamed) useHook(hook);
  }
  // Before the server closes, which waits for requests.
  app.addHook("preClose", async () => {
    for (const { guard } of made) void guard.end();
  });
  app.addHook("onClose", async () => {
    storeLog.stop();
    await Promise.all(made.map(({ limiters }) => limiters.close()));
  });
}

function limitersIn(rules: readonly Rule[]): Limiter[] {
  return [...new Set(rules.flatMap(({ limiters }) => limiters.all))];
}

const NOTHING_LIMITED =
  "headgate: neither the plugin nor any of its routes has limits, so no request is limited; give limits to the plugin, or to routes in config.rateLimit or with app.rateLimit";

/** Whether a route has options; any other value must not pass for none. */
function isLimited(
  limit: RouteRateLimitOptions | false | undefined,
): limit is RouteRateLimitOptions {
  return limit !== undefined && limit !== false;
}

/** A hook for any place in a request's life: preParsing hands over a payload before `done`. */
function hookOf(
  decide: (request: FastifyRequest, reply: FastifyReply, done: Done) => void,
): (request: object, reply: object, done: Done) => void {
  return (request: object, reply: object, payload: unknown, done = payload) => {
    if (typeof done !== "function") throw withoutDone(done);
    decide(request as FastifyRequest, reply as FastifyReply, done as Done);
  };
}

/** Without `done`, the request can neither go on nor fail. */
function withoutDone(received: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `app.rateLimit: the hook must be called as (request, reply, done), got ${typeof received} for done; put it in a route's hooks, or call app.headgate.limiter.consume(subject) yourself`,
  );
}

/** A second plugin in the same scope does not replace it: the first one reads the routes' config. */
function decorate(
  app: FastifyInstance,
  headgate: Headgate,
  rateLimit: (options?: RouteRateLimitOptions) => RateLimitHook,
): void {
  if (Object.hasOwn(app, "headgate")) return;
  app.decorate("headgate", headgate);
  app.decorate("rateLimit", rateLimit);
  if (!app.hasRequestDecorator("rateLimit")) app.decorateRequest("rateLimit", null);
}

/** If another plugin reads the routes' config, a plugin without limits has nothing to do. */
function withoutRoutes(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "headgate: limits or a limiter is required for a second plugin in one scope, because the first one reads the config of its routes",
  );
}

function lateRateLimit(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "app.rateLimit: the application is ready, so no more routes can be added that use this hook; make it once, where the routes are added, or call a limiter made by createLimiter in the handler",
  );
}

function lateHook(owner: string, hook: HookName | undefined): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: hook ${formatReceived(hook)} was set after the route had been added; set it where the route is added`,
  );
}
