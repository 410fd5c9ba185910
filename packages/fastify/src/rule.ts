import type { HeadgateError, Store } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import { clientOf, HeadgateDeniedError } from "@headgate/core/http";
import type { Awaitable, Guard, GuardLimiters, GuardSettings } from "@headgate/core/internal-http";
import {
  applyVerdict,
  createGuard,
  createGuardLimiters,
  internalsOf,
  invalidOption,
  invalidValue,
  mirrorHeaders,
  parseGuardOptions,
  readStore,
} from "@headgate/core/internal-http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OnDenied } from "./on-denied.ts";
import { respondToDenial } from "./on-denied.ts";
import type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import { reject, setHeaders } from "./reply.ts";

/** A hook's callback, with an error or without. */
export type Done = (error?: Error) => void;

/** A guard, and the hook in which it decides requests. */
export interface Rule {
  readonly limiters: GuardLimiters;
  readonly guard: Guard<FastifyRequest>;
  readonly hook: HookName;
  /** Decides one request, and lets it continue or responds to it. */
  decide(request: FastifyRequest, reply: FastifyReply, done: Done): void;
}

type Settings = GuardSettings<FastifyRequest>;

/** The settings that routes inherit, and the plugin's own rule. */
export interface PluginRule {
  readonly settings: Settings;
  /** Undefined for a plugin without limits: it limits only the routes that have their own. */
  readonly rule: Rule | undefined;
  readonly hook: HookName;
  readonly name: string;
  readonly store: Store;
}

/** The options of a route, read once. */
export interface RouteSettings extends Settings {
  readonly hook: HookName;
  readonly extend: boolean;
}

/**
 * Creates the plugin's rule. Its keys may be for its routes, so unused keys are rejected once all routes are known. Throws
 * the errors of `createLimiter`.
 */
export function createPluginRule(owner: string, options: HeadgateOptions, warn: Warn): PluginRule {
  const settings = parseGuardOptions<FastifyRequest>(owner, options, undefined, ["hook"]);
  const hook = readHook(owner, options.hook) ?? "onRequest";
  const name = settings.name ?? "limiter";
  // Limits that are given but undefined are a mistake.
  if (!settings.hasLimits) {
    return { settings, rule: undefined, hook, name, store: readStore(settings) };
  }
  const limiters = createGuardLimiters(owner, settings);
  const { store } = internalsOf(limiters.all[0]).policy;
  const rule = createRule(owner, limiters, { ...settings, ownKey: undefined }, hook, warn);
  return { settings, rule, hook, name: settings.name ?? limiters.single?.name ?? name, store };
}

/** Reads the options of a route, which inherits the plugin's. Throws `HEADGATE_INVALID_OPTION` for options that every plugin rejects. */
export function parseRoute(
  owner: string,
  options: RouteRateLimitOptions,
  plugin: Pick<PluginRule, "settings" | "hook">,
): RouteSettings {
  const settings = parseGuardOptions(owner, options, plugin.settings, ["hook", "extend"]);
  const hook = readHook(owner, options.hook) ?? plugin.hook;
  const { extend = false, limiter, limits } = options;
  if (limiter !== undefined) rejectOptions(owner, options, ["extend"], "together with a limiter");
  else if (limits === undefined) {
    rejectOptions(owner, options, ["name", "store", "extend"], "without limits of the route's own");
  }
  if (typeof extend === "boolean") return { ...settings, hook, extend };
  throw invalidValue(`${owner}: extend must be true or false`, extend);
}

/** Throws `HEADGATE_INVALID_OPTION` for a route that would be limited by a plugin without limits. */
export function requireOwnLimits(owner: string, { limits, limiter, extend }: RouteSettings): void {
  if ((limits !== undefined || limiter !== undefined) && !extend) return;
  const what = extend ? "extend needs a plugin with limits" : "limits are required";
  throw invalidOption(
    `${owner}: ${what}, because the plugin has none; give the route limits or a limiter of its own, or the plugin limits`,
  );
}

/**
 * Creates a route's rule. Without its own limits it uses the plugin's limiter. `name` is the default name of its counters.
 * Throws the errors of `createLimiter`.
 */
export function createRouteRule(
  owner: string,
  route: RouteSettings,
  name: string | undefined,
  plugin: PluginRule,
  warn: Warn,
): Rule {
  if (plugin.rule === undefined) requireOwnLimits(owner, route);
  return createRule(
    owner,
    createRouteLimiters(owner, route, name, plugin),
    route,
    route.hook,
    warn,
  );
}

function createRouteLimiters(
  owner: string,
  route: RouteSettings,
  name: string | undefined,
  plugin: PluginRule,
): GuardLimiters {
  if (route.limiter !== undefined) return createGuardLimiters(owner, route);
  const { settings, store } = plugin;
  const limiterOptions = { ...settings.limiterOptions, ...route.limiterOptions };
  if (route.limits === undefined) {
    const [named] = Object.keys(route.limiterOptions);
    // The plugin's limiters, which the plugin closes.
    if (named === undefined) return { ...(plugin.rule as Rule).limiters, close: async () => {} };
    if (settings.limiter !== undefined) throw pluginLimiterError(owner, named);
    // The same name and limits share the plugin's counters, with the route's own options for outages.
    const { count } = route;
    return createGuardLimiters(owner, {
      ...settings,
      limiterOptions,
      count,
      name: plugin.name,
      store,
    });
  }
  const own = { ...route, store: route.store ?? store, limiterOptions, name: route.name ?? name };
  /** The plugin's name, with which a default name begins. */
  const namedAfter = route.name === undefined ? plugin.name : undefined;
  if (!route.extend) return createGuardLimiters(owner, own, undefined, namedAfter);
  const { single, choose } = (plugin.rule as Rule).limiters;
  if (single !== undefined && choose === undefined) {
    return createGuardLimiters(owner, own, single, namedAfter);
  }
  throw invalidOption(`${owner}: extend needs a plugin whose limits do not depend on the request`);
}

function createRule(
  owner: string,
  limiters: GuardLimiters,
  settings: Settings,
  hook: HookName,
  warn: Warn,
): Rule {
  const guard = createGuard(owner, limiters, settings, { name: "fastify", warn, routeOf });
  const { onDenied } = settings;

  /** Applies a verdict to the reply, and returns whether the request continues. Throws or rejects with an error for the error handler. */
  function respond(
    verdict: Verdict,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Awaitable<boolean> {
    if (verdict.kind === "disconnected") {
      reply.hijack();
      return false;
    }
    if (verdict.kind === "pass") return true;
    // Something else may have responded meanwhile, for example on a timeout.
    if (reply.sent) return false;
    if (verdict.kind !== "refused") request.rateLimit = verdict.decision;
    if (verdict.kind === "denied" && typeof onDenied === "function") {
      return respondToDenial(onDenied as OnDenied, request, reply, verdict, warn);
    }
    setHeaders(reply, verdict.headers);
    if (verdict.kind === "allowed") return true;
    if (verdict.kind === "denied" && onDenied === "error") {
      reply.raw.statusCode = verdict.rejection.status;
      // An error handler may respond on the raw response.
      mirrorHeaders(reply, verdict.headers);
      throw new HeadgateDeniedError(verdict.decision);
    }
    reject(reply, verdict.rejection);
    return false;
  }

  return {
    limiters,
    guard,
    hook,
    decide(request, reply, done) {
      const client = clientOf(request.ip, request.raw);
      applyVerdict(guard.check(request, client, reply.raw, reply), respond, request, reply, done);
    },
  };
}

/** The method and the route of a request as the application wrote it, such as `GET /users/:id`; undefined if none was found. */
function routeOf({ method, routeOptions: { url } }: FastifyRequest): string | undefined {
  return url === undefined ? undefined : `${method} ${url}`;
}

/** A limiter that was passed in has its own options for outages of its store. */
function pluginLimiterError(owner: string, option: string): HeadgateError {
  return invalidOption(
    `${owner}: ${option} is an option of the plugin's limiter, and cannot change here; give the route limits of its own, or give the option where the limiter is created`,
  );
}

function rejectOptions(
  owner: string,
  options: RouteRateLimitOptions,
  names: readonly (keyof RouteRateLimitOptions)[],
  where: string,
): void {
  for (const name of names) {
    if (options[name] === undefined || (name === "extend" && options.extend === false)) continue;
    throw invalidOption(`${owner}: ${name} has no effect ${where}; leave it out`);
  }
}

function readHook(owner: string, hook: unknown): HookName | undefined {
  if (hook === undefined || HOOKS.includes(hook as HookName)) return hook as HookName | undefined;
  throw invalidValue(`${owner}: hook must be one of ${HOOKS.join(", ")}`, hook);
}
