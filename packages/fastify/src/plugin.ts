import { HeadgateError } from "@headgate/core";
import type { Warn } from "@headgate/core/http";
import { formatReceived, isFirst, partsOf, toError } from "@headgate/core/http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Done } from "./decide-request.ts";
import { decideRequest } from "./decide-request.ts";
import type { Headgate, RateLimitHook } from "./headgate.ts";
import { createHeadgate } from "./headgate.ts";
import { areRoutesKnown, forgetRoute, noteRoute, routeOf, routesIn } from "./known-routes.ts";
import { writeNotice } from "./operator-log.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import type { NamedRoute } from "./route-name.ts";
import { routeName } from "./route-name.ts";
import type { Rule } from "./rule.ts";
import { makeRouteRule, makeRule, validateRouteOptions } from "./rule.ts";
import { tellThroughLog } from "./teller.ts";

/** Limits every request of a scope. */
export async function headgatePlugin(
  app: FastifyInstance,
  options: HeadgateOptions,
): Promise<void> {
  // Several plugins may run on one server.
  const warn: Warn = (code, message) => {
    if (isFirst(app.server, code)) writeNotice(app, { level: "warn", code, message });
  };
  const rule = makeRule("headgate", options, warn);
  const headgate = createHeadgate(rule);
  const made: Rule[] = [rule];
  const teller = tellThroughLog(app);
  teller.listen(rule.limiters);
  const firstLimiter = rule.limiters.all[0];
  const store = partsOf(firstLimiter).counters.store;
  const pluginName = options.name ?? rule.limiters.only?.name ?? "limiter";
  const plugin = { options, rule, name: pluginName, store };
  /** Rules by their route, or by its config where the route is not known. */
  const routeRules = new WeakMap<object, Rule>();
  /** The hooks in which any rule decides: one that is added for nothing would cost every request. */
  const usedHooks = new Set<HookName>();

  function addRule(owner: string, routeOptions: RouteRateLimitOptions, name?: string): Rule {
    const added = makeRouteRule(owner, routeOptions, name, plugin, warn);
    made.push(added);
    teller.listen(added.limiters);
    return added;
  }

  function routeRuleOf(key: object, limit: RouteRateLimitOptions, route: NamedRoute): Rule {
    const known = routeRules.get(key);
    if (known !== undefined) return known;
    const name = routeName(pluginName, route);
    const owner = `headgate on ${name}`;
    validateRouteOptions(owner, limit);
    // Better no answer than one without the limit.
    if (!usedHooks.has(limit.hook ?? rule.hook)) throw lateHook(owner, limit.hook);
    const added = addRule(owner, limit, name);
    routeRules.set(key, added);
    return added;
  }

  /** The innermost plugin reads a route's config; those around it only count. */
  function isOwner(scope: FastifyInstance): boolean {
    return scope.headgate === headgate;
  }

  function ruleOf(request: FastifyRequest): Rule | undefined {
    const { config, method, url } = request.routeOptions;
    const limit = config?.rateLimit;
    if (limit === undefined) return rule;
    if (limit === false) return undefined;
    if (!isOwner(request.server)) return rule;
    const route = { method: method ?? "GET", url: url ?? "" };
    return routeRuleOf(routeOf(config) ?? config, limit, route);
  }

  /** Every request passes here in each hook that is used, the first time in `onRequest`. */
  function decideIn(
    hook: HookName,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void {
    // A scope that was made before the plugin loaded has not got the decorator's default.
    if (request.rateLimit === undefined) request.rateLimit = null;
    let applied: Rule | undefined;
    let failure: Error | undefined;
    try {
      applied = ruleOf(request);
    } catch (error) {
      failure = toError(error);
    }
    if (applied?.hook !== hook) done(failure);
    else decideRequest(applied.guard, applied.onDenied, request, reply, done);
  }

  function useHook(hook: HookName): void {
    if (usedHooks.has(hook)) return;
    usedHooks.add(hook);
    const decide = hookOf((request, reply, done) => decideIn(hook, request, reply, done));
    app.addHook(hook as "onRequest", decide);
  }

  decorate(app, headgate, (routeOptions) => {
    const asked = routeOptions === undefined ? rule : addRule("app.rateLimit", routeOptions);
    return hookOf((request, reply, done) =>
      decideRequest(asked.guard, asked.onDenied, request, reply, done),
    );
  });
  app.addHook("onRoute", function (this: FastifyInstance, routeOptions) {
    const limit = routeOptions.config?.rateLimit;
    try {
      if (isLimited(limit)) {
        validateRouteOptions(`headgate on ${routeOptions.url}`, limit);
        useHook(limit.hook ?? rule.hook);
      }
    } catch (error) {
      forgetRoute(this, routeOptions);
      throw error;
    }
    noteRoute(this, routeOptions);
  });
  // Not before all scopes are there: one of them may have a plugin of its own, which then reads its routes' config.
  app.addHook("onReady", async () => {
    for (const route of routesIn(app)) {
      const limit = route.options.config?.rateLimit;
      if (isLimited(limit) && isOwner(route.scope)) routeRuleOf(route, limit, route.options);
    }
  });
  // What is no options is refused once all routes are there.
  const named = routesIn(app).map(({ options }) => Object(options.config?.rateLimit).hook);
  for (const hook of HOOKS) {
    // A route that nobody knows of may name any of them.
    const isNamed = !areRoutesKnown(app) || named.includes(hook);
    if (hook === "onRequest" || hook === rule.hook || isNamed) useHook(hook);
  }
  app.addHook("onClose", async () => {
    teller.stop();
    await Promise.all(made.map(({ limiters }) => limiters.close()));
  });
}

/** Whether a route has options; whatever else stands there must not pass for none. */
function isLimited(
  limit: RouteRateLimitOptions | false | undefined,
): limit is RouteRateLimitOptions {
  return limit !== undefined && limit !== false;
}

/** A hook for any place in a request's life: preParsing hands over a payload before `done`. */
function hookOf(
  decide: (request: FastifyRequest, reply: FastifyReply, done: Done) => void,
): RateLimitHook {
  return (request: object, reply: object, payload: unknown, done = payload) =>
    decide(request as FastifyRequest, reply as FastifyReply, done as Done);
}

/** What a second plugin of the same scope finds there stays: the first one reads the routes' config. */
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

function lateHook(owner: string, hook: HookName | undefined): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: hook ${formatReceived(hook)} was set when the route had been added already; set it where the route is added`,
  );
}
