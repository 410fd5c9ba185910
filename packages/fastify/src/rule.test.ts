import type { HeadgateError, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { byTier, perRequest } from "@headgate/core/http";
import { internalsOf } from "@headgate/core/internal-http";
import { describe, expect, test, vi } from "vitest";
import type { HeadgateOptions, RouteRateLimitOptions } from "./options.ts";
import { HOOKS } from "./options.ts";
import type { Rule } from "./rule.ts";
import { createPluginRule, createRouteRule, parseRoute } from "./rule.ts";

const limits = fixedWindow({ limit: 3, window: "1m" });
const own = fixedWindow({ limit: 2, window: "1h", name: "own" });

const OWNER = "headgate on api GET /x";

function ruleOf(options: HeadgateOptions): Rule {
  return createPluginRule("headgate", options, vi.fn()).rule as Rule;
}

/** A plugin and a maker of rules for its routes. */
function pluginOf(options: HeadgateOptions) {
  const plugin = createPluginRule("headgate", options, vi.fn());
  return {
    plugin,
    rule: plugin.rule as Rule,
    store: plugin.store,
    route: (route: RouteRateLimitOptions, name = "api GET /x") =>
      createRouteRule(OWNER, parseRoute(OWNER, route, plugin), name, plugin, vi.fn()),
  };
}

function errorOf(make: () => unknown): HeadgateError {
  try {
    make();
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

const client = { address: "1.2.3.4", peer: "1.2.3.4", isDisconnected: () => false };

function request(headers: Record<string, string> = {}) {
  return { ip: "1.2.3.4", headers } as never;
}

describe("the plugin's rule", () => {
  test("the plugin decides in onRequest, or in the configured hook", () => {
    expect(ruleOf({ limits }).hook).toBe("onRequest");
    for (const hook of HOOKS) expect(ruleOf({ limits, hook }).hook).toBe(hook);
  });

  test.each([["onSend"], ["onresponse"], [""], [null], [5], [["onRequest"]], [10n]])(
    "the plugin rejects the hook %s and lists the valid ones",
    (hook) => {
      const error = errorOf(() => ruleOf({ limits, hook } as never));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(
        /^headgate: hook must be one of onRequest, preParsing, preValidation, preHandler, got \S/,
      );
    },
  );

  test.each([
    ["max", { max: 5, timeWindow: "1m" }],
    ["timeWindow", { timeWindow: 60_000 }],
    ["extend", { limits, extend: true }],
    ["rateLimit", { rateLimit: { limits } }],
    ["whitelist", { limits, whitelist: ["127.0.0.1"] }],
  ])("the plugin rejects %s", (option, options) => {
    const error = errorOf(() => ruleOf(options as never));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain(`"${option}"`);
  });

  test("the plugin rejects limits or a limiter that is undefined", () => {
    for (const none of [{ limits: undefined }, { limiter: undefined }]) {
      expect(errorOf(() => ruleOf(none)).code).toBe("HEADGATE_INVALID_OPTION");
    }
    const limiter = createLimiter({ limits });
    expect(ruleOf({ limiter }).limiters.single).toBe(limiter);
  });
});

describe("a route's rule", () => {
  test("a route without limits uses the plugin's limiter and does not close it", async () => {
    const { rule, route } = pluginOf({ name: "api", limits });
    const { limiters, guard } = route({ cost: 2 });
    expect(limiters.single).toBe(rule.limiters.single);
    await limiters.close();
    expect(await guard.check(request(), client)).toMatchObject({ decision: { remaining: 1 } });
  });

  test("a route with limits has its own limiter, named after the route, on the plugin's store", async () => {
    const { rule, store, route } = pluginOf({ name: "api", limits });
    const { limiters } = route({ limits: own });
    const limiter = limiters.single as Limiter;
    expect(limiter.name).toBe("api GET /x");
    expect(limiter.limits.map(({ name }) => name)).toEqual(["own"]);
    expect(internalsOf(limiter).policy.store).toBe(store);
    await limiter.consume("1.2.3.4");
    expect((await rule.limiters.single?.consume("1.2.3.4"))?.remaining).toBe(2);
    expect(route({ limits: own, name: "mine" }).limiters.single?.name).toBe("mine");
    const elsewhere = memoryStore();
    const other = route({ limits: own, store: elsewhere }).limiters.single as Limiter;
    expect(internalsOf(other).policy.store).toBe(elsewhere);
  });

  test("a route with extend is charged for both limiters or for neither", async () => {
    const { rule, route } = pluginOf({ name: "api", limits });
    const { limiters } = route({ limits: own, extend: true });
    expect(limiters.single?.limits).toHaveLength(2);
    await limiters.single?.consume("x", { cost: 2 });
    expect((await limiters.single?.consume("x"))?.allowed).toBe(false);
    expect((await rule.limiters.single?.consume("x"))?.remaining).toBe(0);
    expect(route({ limits: own, extend: false, name: "b" }).limiters.single?.limits).toHaveLength(
      1,
    );
  });

  test("a route can extend only a plugin on the same store", () => {
    const { route } = pluginOf({ name: "api", limits });
    const store = memoryStore();
    const error = errorOf(() => route({ limits: own, extend: true, store }));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain("same store");
  });

  test("a route is in shadow mode if the plugin is, unless the route sets shadow", () => {
    const isShadow = (rule: Rule) => internalsOf(rule.limiters.single).policy.shadow;
    const { rule, route } = pluginOf({ name: "api", limits, shadow: true });
    expect(isShadow(rule)).toBe(true);
    expect(isShadow(route({ limits: own, name: "a" }))).toBe(true);
    expect(isShadow(route({ limits: own, name: "b", extend: true }))).toBe(true);
    expect(isShadow(route({ limits: own, name: "c", shadow: false }))).toBe(false);
    expect(isShadow(route({ cost: 2 }))).toBe(true);
    const enforcing = pluginOf({ name: "api", limits });
    expect(isShadow(enforcing.route({ limits: own, name: "a" }))).toBe(false);
    expect(isShadow(enforcing.route({ limits: own, name: "b", shadow: true }))).toBe(true);
  });

  test("a route with shadow and without limits shares the plugin's name and counters", async () => {
    const { rule, route } = pluginOf({ name: "api", limits });
    const { single } = route({ shadow: true }).limiters;
    expect(single?.name).toBe("api");
    await rule.limiters.single?.consume("x", { cost: 3 });
    expect(await single?.consume("x")).toMatchObject({ allowed: true, wouldAllow: false });
  });

  test("a route that extends a plugin without shadow mode is not in shadow mode", () => {
    const { route } = pluginOf({ name: "api", limits });
    const error = errorOf(() => route({ limits: own, extend: true, shadow: true }));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain("both limiters must have the same shadow");
  });

  test("a route cannot set shadow for a limiter that was passed to the plugin", () => {
    const { route } = pluginOf({ limiter: createLimiter({ limits }) });
    const error = errorOf(() => route({ shadow: true }));
    expect(error.message).toContain("shadow is an option of the plugin's limiter");
  });

  test.each([
    ["a tier", byTier({ free: limits }, (_: unknown) => "free")],
    ["the request", perRequest(limits, (_: unknown) => null)],
  ])("a route cannot extend limits that depend on %s", (_, ofPlugin) => {
    const { route } = pluginOf({ name: "api", limits: ofPlugin });
    const error = errorOf(() => route({ limits: own, extend: true }));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toMatch(/^headgate on api GET \/x: extend needs/);
  });

  test.each([
    ["name", "mine"],
    ["store", memoryStore()],
    ["extend", true],
  ])("a route without limits of its own rejects %s", (option, value) => {
    const { route } = pluginOf({ name: "api", limits });
    const error = errorOf(() => route({ [option]: value }));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toBe(
      `headgate on api GET /x: ${option} has no effect without limits of the route's own; leave it out`,
    );
  });

  test("a route's limiter cannot be combined with limits", async () => {
    const { route } = pluginOf({ name: "api", limits });
    const limiter = createLimiter({ limits: own });
    const { limiters } = route({ limiter });
    expect(limiters.single).toBe(limiter);
    await limiters.close();
    expect((await limiter.consume("x")).allowed).toBe(true);
    for (const more of [
      { extend: true },
      { limits: own },
      { name: "a" },
      { store: memoryStore() },
    ]) {
      expect(errorOf(() => route({ limiter, ...more })).code).toBe("HEADGATE_INVALID_OPTION");
    }
  });

  test.each([
    [{ max: 5 }, "max"],
    [{ hook: "onSend" }, "hook"],
    [{ cost: -1 }, "cost"],
    [{ missingKey: "deny" }, "missingKey"],
    [{ onDenied: "throw" }, "onDenied"],
    [true, "options"],
    [null, "options"],
    [5, "options"],
  ])("a route rejects %j as the plugin does", (options, option) => {
    const { route } = pluginOf({ name: "api", limits });
    const error = errorOf(() => route(options as never));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toMatch(/^headgate on api GET \/x: /);
    expect(error.message).toContain(option);
  });

  test.each<[string, object]>([
    [
      "extend has no effect together with a limiter; leave it out",
      { limiter: createLimiter({ limits }), extend: true },
    ],
    ["name has no effect without limits of the route's own; leave it out", { name: "mine" }],
    [
      "store has no effect without limits of the route's own; leave it out",
      { store: memoryStore() },
    ],
    ["extend has no effect without limits of the route's own; leave it out", { extend: true }],
    ["extend must be true or false, got 1", { limits: own, extend: 1 }],
    ["limits must hold at least one, got []", { limits: [] }],
  ])("a route's options are rejected even before there is a plugin: %s", (message, options) => {
    const { plugin } = pluginOf({ limits });
    const error = errorOf(() => parseRoute("headgate on /x", options, plugin));
    expect(error.code).toMatch(/^HEADGATE_INVALID_(OPTION|LIMIT)$/);
    expect(error.message).toBe(`headgate on /x: ${message}`);
  });

  test("a route inherits the options for reading requests and for responses", async () => {
    const onDenied = vi.fn();
    const { plugin, route } = pluginOf({
      name: "api",
      limits,
      hook: "preHandler",
      onDenied,
      headers: false,
      cost: 2,
      key: ({ headers }) => headers["x-user"] as string,
      missingKey: "reject",
      skip: ({ headers }) => headers["x-skip"] === "1",
    });
    const { hook, guard } = route({ limits: own });
    expect(hook).toBe("preHandler");
    expect(parseRoute(OWNER, { limits: own }, plugin).onDenied).toBe(onDenied);
    expect(await guard.check(request({ "x-skip": "1" }), client)).toEqual({ kind: "pass" });
    expect((await guard.check(request(), client)).kind).toBe("refused");
    expect(await guard.check(request({ "x-user": "u" }), client)).toMatchObject({
      kind: "allowed",
      headers: [],
      decision: { cost: 2, limit: 2, remaining: 0 },
    });
  });

  test("a route overrides only the options that it sets", async () => {
    const { rule, route } = pluginOf({ name: "api", limits, hook: "preHandler", cost: 2 });
    const { hook, guard } = route({ hook: "preParsing", cost: 1, missingKey: undefined });
    expect(hook).toBe("preParsing");
    expect(await guard.check(request(), client)).toMatchObject({ decision: { cost: 1 } });
    expect(await rule.guard.check(request(), client)).toMatchObject({ decision: { cost: 2 } });
    expect(route({ cost: undefined, hook: undefined }).hook).toBe("preHandler");
    expect(await route({ cost: undefined }).guard.check(request(), client)).toMatchObject({
      decision: { cost: 2 },
    });
  });

  test("two routes with the same name and policy share their counters", async () => {
    const { route } = pluginOf({ name: "api", limits });
    const [one, other] = [route({ limits: own }, "shared"), route({ limits: own }, "shared")];
    await one.limiters.single?.consume("x");
    expect((await other.limiters.single?.consume("x"))?.remaining).toBe(0);
    expect(errorOf(() => route({ limits }, "shared")).code).toBe("HEADGATE_DUPLICATE_NAME");
  });
});
