import type { Decision, HeadgateError, Limiter } from "@headgate/core";
import type { HttpGuard, RequestDecision, Warn } from "@headgate/core/http";
import type { GuardLimiters } from "@headgate/core/internal-http";
import {
  formatReceived,
  invalidOption,
  toError,
  waitUntilReady,
  withTimeout,
} from "@headgate/core/internal-http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { logStores } from "./log.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import type { Done, PluginRule, RouteSettings, Rule } from "./rule.ts";
import { createPluginRule, createRouteRule, parseRoute } from "./rule.ts";
import { routeName, trackedRouteOf, untrackedRouteName } from "./tracked-routes.ts";

/** The rate limiter of a scope, as `app.headgate`. */
export interface Headgate extends Pick<HttpGuard<object>, "resetClient"> {
  /**
   * The plugin's limiter, for `reset`, `charge`, `peek`. Throws `HEADGATE_INVALID_OPTION` if its limits are `byTier`. Undefined
   * if the plugin has no limits, which its type does not show: applications know whether they gave any.
   */
  readonly limiter: Limiter;
  /** The limiter of each tier, if the plugin's limits are `byTier`. */
  readonly tiers: ReadonlyMap<string, Limiter>;
  /**
   * Returns the decision of the plugin, or of the route's own config, on a request, whatever other limiters decided it, too;
   * undefined if no limiter was called, for example because of `skip`.
   */
  decisionOf(request: object): RequestDecision | undefined;
  /**
   * Prepares the stores of the plugin and its routes for the first request, as the plugin does by itself before the application listens.
   * Resolves with whether all are available.
   */
  ready(): Promise<boolean>;
}

/** A route hook that limits requests. Its types are structural, so that it fits every server and type provider. */
export interface RateLimitHook extends Pick<HttpGuard<object>, "decisionOf" | "resetClient"> {
  (request: object, reply: object, done: Done): void;
}

/** The rules of one registered plugin: its own and those of its routes, with the hooks that they use. */
export class PluginRules {
  readonly plugin: PluginRule;
  readonly headgate: Headgate;
  /** Every rule created here. */
  readonly all: Rule[] = [];
  /** The limiters that use the plugin's keys. */
  readonly limitersWithPluginKey: Limiter[] = [];
  /** The hooks in which any rule decides: an unused hook would cost every request time. */
  readonly usedHooks: Set<HookName> = new Set();
  readonly #stopLogging: (() => void)[] = [];
  readonly #app: FastifyInstance;
  readonly #warn: Warn;
  /** Rules by their route, or by its config if the route is not known. */
  readonly #routeRules = new WeakMap<object, Rule>();

  constructor(app: FastifyInstance, options: HeadgateOptions, warn: Warn) {
    this.#app = app;
    this.#warn = warn;
    this.plugin = createPluginRule("headgate", options, warn);
    const { rule } = this.plugin;
    this.headgate = this.#createHeadgate(rule?.limiters);
    if (rule !== undefined) this.#add(rule, true);
  }

  /** `limiters` are the plugin's, if it has limits. */
  #createHeadgate(limiters: GuardLimiters | undefined): Headgate {
    const guardOf = (request: object) => this.#findRule(request as FastifyRequest)?.guard;
    return {
      ready: () => waitUntilReady(this.#limiters()),
      get limiter() {
        if (limiters === undefined) return undefined as never;
        if (limiters.single !== undefined) return limiters.single;
        throw invalidOption("the limits of this plugin depend on the tier: use app.headgate.tiers");
      },
      tiers: limiters?.tiers ?? new Map(),
      decisionOf: (request) => guardOf(request)?.decisionOf(request),
      resetClient: async (request) => (await guardOf(request)?.resetClient(request)) ?? false,
    };
  }

  #add(rule: Rule, isKeyed: boolean): Rule {
    this.all.push(rule);
    if (isKeyed) this.limitersWithPluginKey.push(...rule.limiters.all);
    this.#stopLogging.push(logStores(this.#app, rule.limiters));
    return rule;
  }

  /** Creates a rule for `app.rateLimit` or a route. `name` is the default name of its counters. */
  addRule(owner: string, settings: RouteSettings, isKeyed: boolean, name?: string): Rule {
    return this.#add(createRouteRule(owner, settings, name, this.plugin, this.#warn), isKeyed);
  }

  /** Returns the rule of a route, or of its config if the route is not tracked. Creates the rule the first time. */
  routeRuleOf(key: object, options: RouteRateLimitOptions, nameOf: () => string): Rule {
    const known = this.#routeRules.get(key);
    if (known !== undefined) return known;
    const name = nameOf();
    const owner = `headgate on ${name}`;
    const settings = parseRoute(owner, options, this.plugin);
    // An error is better than an unlimited request.
    if (!this.usedHooks.has(settings.hook)) throw lateHookError(owner, options.hook);
    const added = this.addRule(owner, settings, options.key === undefined, name);
    this.#routeRules.set(key, added);
    return added;
  }

  /** Whether this plugin is the innermost of a scope, which reads the config of its routes. */
  isOwner(scope: FastifyInstance): boolean {
    return scope.headgate === this.headgate;
  }

  #findRule(request: FastifyRequest): Rule | undefined {
    const { config, method, url } = request.routeOptions;
    const limit = config?.rateLimit;
    const { rule, name } = this.plugin;
    if (limit === undefined) return rule;
    if (limit === false) return undefined;
    if (!this.isOwner(request.server)) return rule;
    const known = trackedRouteOf(config);
    if (known !== undefined) {
      return this.routeRuleOf(known, limit, () => routeName(name, known.options));
    }
    const route = { method: method ?? "GET", url: url ?? "" };
    return this.routeRuleOf(config, limit, () =>
      untrackedRouteName(name, route, limit.limits, this.#app),
    );
  }

  /** Decides a request in one hook. Runs for every request in each hook that is used, first in `onRequest`. */
  decideIn(hook: HookName, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    // A scope that was created before the plugin loaded lacks the decorator's default.
    if (request.rateLimit === undefined) request.rateLimit = null;
    let rule: Rule | undefined;
    let failure: Error | undefined;
    try {
      rule = this.#findRule(request);
    } catch (error) {
      failure = toError(error);
    }
    if (rule?.hook !== hook) done(failure);
    else rule.decide(request, reply, done);
  }

  #limiters(): Limiter[] {
    return [...new Set(this.all.flatMap(({ limiters }) => limiters.all))];
  }

  /**
   * Prepares the stores of limiters for the first request. An unavailable store does not keep the application from
   * starting: the wait is at most half of the time that Fastify gives a hook.
   */
  async waitForStores(): Promise<void> {
    const { pluginTimeout = PLUGIN_TIMEOUT_MS } = this.#app.initialConfig;
    const ready = waitUntilReady(this.#limiters()).catch(() => false);
    await (pluginTimeout === 0 ? ready : withTimeout(pluginTimeout / 2, ready, () => false));
  }

  async close(): Promise<void> {
    for (const stop of this.#stopLogging) stop();
    await Promise.all(this.all.map(({ limiters }) => limiters.close()));
  }
}

/** Fastify's own default, in milliseconds. */
const PLUGIN_TIMEOUT_MS = 10_000;

function lateHookError(owner: string, hook: HookName | undefined): HeadgateError {
  return invalidOption(
    `${owner}: hook ${formatReceived(hook)} was set after the route had been added; set it where the route is added`,
  );
}

declare module "fastify" {
  interface FastifyRequest {
    /** The binding decision among all those on this request so far; null before the first. */
    rateLimit: Decision | null;
  }

  interface FastifyContextConfig {
    /** The route's own rate limit, what it changes in the plugin's, or `false` for none. */
    rateLimit?: RouteRateLimitOptions | false;
  }

  interface FastifyInstance {
    /** The rate limiter of this scope. */
    headgate: Headgate;
    /** Creates a route hook that makes another decision; without options it uses the plugin's limiter. */
    rateLimit(options?: RouteRateLimitOptions): RateLimitHook;
  }
}
