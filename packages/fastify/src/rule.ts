import type { Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { Guard, GuardLimiters, Warn } from "@headgate/core/http";
import {
  createGuard,
  formatReceived,
  LIMITER_OPTIONS,
  limiterOptionsOf,
  makeGuardLimiters,
  partsOf,
  readStore,
  validateGuardOptions,
} from "@headgate/core/http";
import type { FastifyRequest } from "fastify";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";

const DEFAULT_HOOK: HookName = "onRequest";

/** How requests are decided: by which guard, in which hook. */
export interface Rule {
  readonly limiters: GuardLimiters;
  readonly guard: Guard<FastifyRequest>;
  readonly hook: HookName;
  readonly onDenied: HeadgateOptions["onDenied"];
  readonly warn: Warn;
}

/** What routes inherit from. */
export interface PluginRule {
  readonly options: HeadgateOptions;
  /** Undefined for a plugin without limits: it limits only the routes that have their own. */
  readonly rule: Rule | undefined;
  readonly hook: HookName;
  readonly name: string;
  readonly store: Store;
}

/** Creates the plugin's rule. Its keys may be for its routes: whether all are read is known once these are known. Throws what `createLimiter` throws. */
export function makePluginRule(owner: string, options: HeadgateOptions, warn: Warn): PluginRule {
  validateGuardOptions(owner, options, ["hook"]);
  const { hook = DEFAULT_HOOK, name = "limiter" } = options;
  requireHook(owner, hook);
  // Limits that are given but undefined are a mistake.
  if (!("limits" in options || "limiter" in options)) {
    return { options, rule: undefined, hook, name, store: readStore(options) };
  }
  const limiters = makeGuardLimiters(owner, options);
  const { store } = partsOf(limiters.all[0]).counted;
  const rule = ruleFor(owner, limiters, options, options, warn);
  return { options, rule, hook, name: options.name ?? limiters.only?.name ?? name, store };
}

/**
 * Creates a rule that inherits what it does not name from the plugin's. Without its own limits it asks the plugin's
 * limiter. `name` is the default name of its counters. Throws what `createLimiter` throws.
 */
export function makeRouteRule(
  owner: string,
  options: RouteRateLimitOptions,
  name: string | undefined,
  plugin: PluginRule,
  warn: Warn,
): Rule {
  validateRouteOptions(owner, options);
  if (plugin.rule === undefined) requireOwnLimits(owner, options);
  const merged = { ...withoutLimits(plugin.options), ...definedOf(options) };
  return ruleFor(owner, limitersFor(owner, options, name, plugin), merged, plugin.options, warn);
}

/** Throws `HEADGATE_INVALID_OPTION` for options that no plugin would take. */
export function validateRouteOptions(owner: string, options: RouteRateLimitOptions): void {
  validateGuardOptions(owner, options, ["hook", "extend"]);
  requireHook(owner, options.hook);
  const { extend, limiter, limits } = options;
  if (limiter !== undefined) rejectOptions(owner, options, ["extend"], "beside a limiter");
  else if (limits === undefined) {
    rejectOptions(owner, options, ["name", "store", "extend"], "without limits of the route's own");
  }
  if (extend === undefined || typeof extend === "boolean") return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: extend must be true or false, got ${formatReceived(extend)}`,
  );
}

/** Throws `HEADGATE_INVALID_OPTION` for a route that would be limited by a plugin without limits. */
export function requireOwnLimits(owner: string, options: RouteRateLimitOptions): void {
  const { limits, limiter, extend } = options;
  if ((limits !== undefined || limiter !== undefined) && extend !== true) return;
  const what = extend === true ? "extend needs a plugin with limits" : "limits are required";
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ${what}, because the plugin has none; give the route limits or a limiter of its own, or the plugin limits`,
  );
}

function limitersFor(
  owner: string,
  options: RouteRateLimitOptions,
  name: string | undefined,
  plugin: PluginRule,
): GuardLimiters {
  if (options.limiter !== undefined) {
    return makeGuardLimiters(owner, options);
  }
  const { store } = plugin;
  const behaviour = {
    ...limiterOptionsOf(plugin.options),
    ...definedOf(limiterOptionsOf(options)),
  };
  if (options.limits === undefined) {
    const named = LIMITER_OPTIONS.find((option) => options[option] !== undefined);
    if (named !== undefined) {
      rejectBesideLimiter(owner, named, plugin.options);
      // The same name and limits share the plugin's counts, whatever happens to its decisions.
      return makeGuardLimiters(owner, {
        ...plugin.options,
        ...behaviour,
        name: plugin.name,
        store,
      });
    }
    // The plugin's limiters, which the plugin closes.
    return { ...(plugin.rule as Rule).limiters, close: async () => {} };
  }
  const own = { store, ...definedOf(options), ...behaviour, name: options.name ?? name };
  /** Whose name its own begins with. */
  const namedAfter = options.name === undefined ? plugin.name : undefined;
  if (options.extend !== true) return makeGuardLimiters(owner, own, undefined, namedAfter);
  const { only, isPerRequest } = (plugin.rule as Rule).limiters;
  if (only === undefined || isPerRequest) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: extend needs a plugin whose limits do not depend on the request`,
    );
  }
  return makeGuardLimiters(owner, own, only, namedAfter);
}

/** The method and the route of a request as the application wrote it, such as `GET /users/:id`; undefined if none was found. */
function routeOf({ method, routeOptions: { url } }: FastifyRequest): string | undefined {
  return url === undefined ? undefined : `${method} ${url}`;
}

function ruleFor(
  owner: string,
  limiters: GuardLimiters,
  options: HeadgateOptions,
  inherited: HeadgateOptions,
  warn: Warn,
): Rule {
  const { hook = DEFAULT_HOOK, onDenied } = options;
  const adapter = { name: "fastify", warn, routeOf };
  const guard = createGuard<FastifyRequest>(owner, limiters, options, adapter, inherited);
  return { limiters, guard, hook, onDenied, warn };
}

/** What a route inherits: how requests are read and answered, not what is counted. */
function withoutLimits({ limits, limiter, store, name, ...rest }: HeadgateOptions): object {
  return rest;
}

/** A limiter that was passed in has its own options for outages of its store. */
function rejectBesideLimiter(owner: string, option: string, { limiter }: HeadgateOptions): void {
  if (limiter === undefined) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ${option} is an option of the plugin's limiter, and cannot change here; give the route limits of its own, or give the option where the limiter is made`,
  );
}

function definedOf<Options extends object>(options: Options): Partial<Options> {
  const defined = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as Partial<Options>;
}

function rejectOptions(
  owner: string,
  options: RouteRateLimitOptions,
  names: readonly (keyof RouteRateLimitOptions)[],
  where: string,
): void {
  for (const name of names) {
    if (options[name] === undefined || (name === "extend" && options.extend === false)) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: ${name} has no effect ${where}; leave it out`,
    );
  }
}

function requireHook(owner: string, hook: unknown): void {
  if (hook === undefined || HOOKS.includes(hook as HookName)) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: hook must be one of ${HOOKS.join(", ")}, got ${formatReceived(hook)}`,
  );
}
