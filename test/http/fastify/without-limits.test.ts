import { redisStore } from "@headgate/core/redis";
import type { HeadgateOptions, RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { byHeader, createLimiter, gcra, memoryStore } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";
import { watchWarnings } from "../support/warnings.ts";
import { start } from "./start-fastify.ts";

const two = gcra({ limit: 2, window: "1h", name: "two" });

/** Adds a route that answers with its decision. */
function addRoute(app: FastifyInstance, path: string, rateLimit?: RouteRateLimitOptions | false) {
  const config = rateLimit === undefined ? {} : { rateLimit };
  app.get(path, { config }, async (request) => ({ decision: request.rateLimit }));
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("it was taken"),
    (reason) => reason as Error,
  );
  return `${(error as NodeJS.ErrnoException).code}: ${error.message}`;
}

function appOf(options: HeadgateOptions = {}): FastifyInstance {
  const app = Fastify();
  onTestFinished(() => app.close());
  app.register(headgate, options);
  return app;
}

describe("a plugin without limits", () => {
  const redis = useRedis();

  test("a plugin without limits limits only routes with their own limits", async () => {
    const app = appOf({ name: "api" });
    addRoute(app, "/limited", { limits: two });
    addRoute(app, "/limiter", { limiter: createLimiter({ limits: two }) });
    addRoute(app, "/free");
    addRoute(app, "/off", false);
    const sendRequest = await start(app);
    for (const path of ["/limited", "/limiter"]) {
      for (const status of [200, 200, 429]) expect((await sendRequest(path)).status).toBe(status);
    }
    for (const path of ["/free", "/off", "/nowhere"]) {
      for (let i = 0; i < 3; i += 1) {
        const { status, headers } = await sendRequest(path);
        expect(status).toBe(path === "/nowhere" ? 404 : 200);
        expect(Object.keys(headers).filter((name) => name.includes("ratelimit"))).toEqual([]);
      }
    }
    expect((await sendRequest("/free")).json()).toEqual({ decision: null });
  });

  test("a plugin without limits is reported if no route has limits either", async () => {
    const warnings = watchWarnings();
    for (const limited of [true, false]) {
      const app = appOf({ name: "api" });
      addRoute(app, "/", limited ? { limits: two } : undefined);
      await app.ready();
      await new Promise(setImmediate);
      const codes = warnings.map(({ code }) => code);
      expect(codes).toEqual(limited ? [] : ["HEADGATE_NO_LIMITS"]);
    }
  });

  test("a plugin without limits allows app.rateLimit with limits", async () => {
    const app = appOf();
    await app.after();
    const preHandler = app.rateLimit({ name: "export", limits: two });
    app.get("/export", { preHandler }, async () => "...");
    const sendRequest = await start(app);
    for (const status of [200, 200, 429])
      expect((await sendRequest("/export")).status).toBe(status);
  });

  test("a plugin without limits has no limiter, and decisionOf returns its routes' decisions", async () => {
    const app = appOf();
    const seen: unknown[] = [];
    app.get("/limited", { config: { rateLimit: { limits: two } } }, async (request) => {
      seen.push(app.headgate.decisionOf(request)?.limiter.name);
    });
    app.get("/free", async (request) => {
      seen.push(app.headgate.decisionOf(request));
    });
    const sendRequest = await start(app);
    await sendRequest("/limited");
    await sendRequest("/free");
    expect(seen).toEqual(["limiter GET /limited", undefined]);
    expect(app.headgate.limiter).toBeUndefined();
    expect(app.headgate.tiers.size).toBe(0);
  });

  test("routes inherit name, store, key, missingKey, headers, lists, hook and onDenied", async () => {
    const prefix = uniquePrefix();
    const app = appOf({
      name: "api",
      store: redisStore(redis, { prefix }),
      storeTimeout: "1m",
      key: byHeader("x-user"),
      missingKey: "reject",
      headers: { legacy: false },
      denyList: ({ headers }) => headers["x-user"] === "mallory",
      hook: "preHandler",
      onDenied: (_, reply) => reply.send("later"),
    });
    addRoute(app, "/limited", { limits: two });
    addRoute(app, "/free");
    const sendRequest = await start(app);
    const as = (user: string, path = "/limited") =>
      sendRequest(path, { headers: { "x-user": user } });
    expect((await sendRequest("/limited")).status).toBe(400);
    expect((await as("mallory")).status).toBe(403);
    expect((await as("mallory", "/free")).status).toBe(200);
    const { headers } = await as("ann");
    expect(headers["ratelimit"]).toMatch(/^"two";r=1;/);
    expect(headers["x-ratelimit-limit"]).toBeUndefined();
    await as("ann");
    expect((await as("ann")).text).toBe("later");
    // Another key is the one by which the plugin saw at boot that Redis answers.
    const keys = (await redis.keys(`${prefix}*`)).filter((key) => !key.endsWith(":probe"));
    expect(keys).toHaveLength(1);
    expect(keys[0]).toContain(":api%20GET%20/limited:");
  });

  test("routes inherit the options for outages", async () => {
    const client = new Redis("/nowhere/redis.sock");
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    const app = appOf({ name: "api", store: redisStore(client), onUnavailable: "deny" });
    addRoute(app, "/limited", { limits: two });
    addRoute(app, "/free");
    const sendRequest = await start(app);
    expect((await sendRequest("/limited")).status).toBe(503);
    expect((await sendRequest("/free")).status).toBe(200);
  });

  test.each<[string, HeadgateOptions]>([
    ["a store without a name", { store: memoryStore() }],
    ["an invalid store", { name: "api", store: {} as never }],
    ["an invalid name", { name: "" }],
    ["limits that are undefined", { limits: undefined }],
    ["a limiter that is undefined", { limiter: undefined }],
    ["an invalid hook", { hook: "onSend" as never }],
  ])("a plugin without limits is rejected with %s", async (_, options) => {
    expect(await refusalOf(appOf(options).ready() as never)).toMatch(/^HEADGATE_INVALID_OPTION: /);
  });

  test("a plugin without limits is rejected beside another plugin in its scope", async () => {
    const app = appOf({ limits: two });
    app.register(headgate, {});
    expect(await refusalOf(app.ready() as never)).toMatch(/^HEADGATE_INVALID_OPTION: .*second/);
  });
});

describe("a route without limits, under a plugin without limits", () => {
  test.each<[string, RouteRateLimitOptions]>([
    ["a cost", { cost: 5 }],
    ["nothing", {}],
    ["limits that are undefined", { limits: undefined }],
    ["extend", { limits: two, extend: true }],
  ])("the route is rejected with %s when it is added or at boot", async (_, rateLimit) => {
    const message = /^HEADGATE_INVALID_OPTION: headgate on .*\/x: .*because the plugin has none/;
    const early = Fastify();
    onTestFinished(() => early.close());
    addRoute(early, "/x", rateLimit);
    early.register(headgate, {});
    expect(await refusalOf(early.ready() as never)).toMatch(message);

    const late = appOf();
    await late.after();
    const add = async () => addRoute(late, "/x", rateLimit);
    expect(await refusalOf(add())).toMatch(message);

    const inside = appOf();
    inside.register(async (scope) => addRoute(scope, "/x", rateLimit));
    expect(await refusalOf(inside.ready() as never)).toMatch(message);
  });

  test("the route is accepted in a scope whose own plugin has limits", async () => {
    const app = appOf();
    app.register(async (scope) => {
      scope.register(headgate, { limits: two });
      addRoute(scope, "/inner", { cost: 2 });
    });
    addRoute(app, "/outer");
    const sendRequest = await start(app);
    expect((await sendRequest("/inner")).headers["ratelimit"]).toMatch(/^"two";r=0;/);
    expect((await sendRequest("/inner")).status).toBe(429);
    expect((await sendRequest("/outer")).headers["ratelimit"]).toBeUndefined();
  });

  test("app.rateLimit without limits is rejected", async () => {
    const app = appOf();
    await app.after();
    expect(() => app.rateLimit()).toThrow(/app\.rateLimit: limits are required/);
    expect(() => app.rateLimit({ cost: 2 })).toThrow(/app\.rateLimit: limits are required/);
  });
});

describe("the key of a plugin without limits", () => {
  const key = byHeader("x-user");

  test("the key counts the requests of routes with their own limits, which may be added later or never", async () => {
    await appOf({ key }).ready();
    const app = appOf({ key });
    app.register(async (scope) => addRoute(scope, "/x", { limits: two }));
    const sendRequest = await start(app);
    const statuses = [];
    for (const user of ["ann", "ann", "ann", "bob"]) {
      statuses.push((await sendRequest("/x", { headers: { "x-user": user } })).status);
    }
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  test("the key is rejected if every route has its own", async () => {
    const app = appOf({ key });
    addRoute(app, "/x", { limits: two, key: () => "all" });
    expect(await refusalOf(app.ready() as never)).toMatch(
      /key is never read, because every route with limits/,
    );
  });
});
