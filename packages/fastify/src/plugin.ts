import type { Warn } from "@headgate/core/http";
import { partsOf } from "@headgate/core/http";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { Done } from "./decide-request.ts";
import { decideRequest } from "./decide-request.ts";
import type { Headgate, RateLimitHook } from "./headgate.ts";
import { createHeadgate } from "./headgate.ts";
import { noteRoute, routeOf, routesIn } from "./known-routes.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import type { NamedRoute } from "./route-name.ts";
import { routeName } from "./route-name.ts";
import type { Rule } from "./rule.ts";
import { makeRouteRule, makeRule } from "./rule.ts";

/** Limits every request of a scope. */
export async function headgatePlugin(
  app: FastifyInstance,
  options: HeadgateOptions,
): Promise<void> {
  const warn: Warn = (code, message) => app.log.warn({ code }, message);
  const rule = makeRule("headgate", options, warn);
  const headgate = createHeadgate(rule);
  const made: Rule[] = [rule];
  const firstLimiter = rule.limiters.all[0];
  const store = partsOf(firstLimiter).counters.store;
  const pluginName = options.name ?? rule.limiters.only?.name ?? "limiter";
  const plugin = { options, rule, store };
  /** Rules by the config of their route. */
  const routeRules = new WeakMap<object, Rule>();

  function addRule(owner: string, routeOptions: RouteRateLimitOptions, name?: string): Rule {
    const added = makeRouteRule(owner, routeOptions, name, plugin, warn);
    made.push(added);
    return added;
  }

  function addRouteRule(key: object, limit: RouteRateLimitOptions, route: NamedRoute): Rule {
    const known = routeRules.get(key);
    if (known !== undefined) return known;
    const name = routeName(pluginName, route);
    const added = addRule(`headgate on ${name}`, limit, name);
    routeRules.set(key, added);
    return added;
  }

  function addNotedRoute(scope: FastifyInstance, routeOptions: RouteOptions): void {
    const route = noteRoute(scope, routeOptions);
    const limit = route?.options.config?.rateLimit;
    if (route !== undefined && limit && isOwner(scope)) addRouteRule(route, limit, route.options);
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
    const key = routeOf(config) ?? config;
    return (
      routeRules.get(key) ?? addRouteRule(key, limit, { method: method ?? "GET", url: url ?? "" })
    );
  }

  function decideIn(
    hook: HookName,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void {
    try {
      const applied = ruleOf(request);
      if (applied?.hook !== hook) done();
      else decideRequest(applied.guard, applied.onDenied, request, reply, done);
    } catch (error) {
      done(error as Error);
    }
  }

  decorate(app, headgate, (routeOptions) => {
    const asked = routeOptions === undefined ? rule : addRule("app.rateLimit", routeOptions);
    return hookOf((request, reply, done) =>
      decideRequest(asked.guard, asked.onDenied, request, reply, done),
    );
  });
  for (const { scope, options: routeOptions } of routesIn(app)) addNotedRoute(scope, routeOptions);
  app.addHook("onRoute", function (this: FastifyInstance, routeOptions) {
    addNotedRoute(this, routeOptions);
  });
  for (const hook of HOOKS) {
    const decide = hookOf((request, reply, done) => decideIn(hook, request, reply, done));
    app.addHook(hook as "onRequest", decide);
  }
  app.addHook("onClose", async () => {
    await Promise.all(made.map(({ limiters }) => limiters.close()));
  });
}

/** A hook for any place in a request's life: preParsing hands over a payload before `done`. */
function hookOf(
  decide: (request: FastifyRequest, reply: FastifyReply, done: Done) => void,
): RateLimitHook {
  return (request: object, reply: object, ...rest: unknown[]) =>
    decide(request as FastifyRequest, reply as FastifyReply, rest.at(-1) as Done);
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
