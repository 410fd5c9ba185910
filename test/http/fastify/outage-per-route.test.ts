import type { HeadgateOptions } from "@headgate/fastify";
import headgate, { byTier, fixedWindow } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { describe, expect, test } from "vitest";
import { useLosableRedis } from "../support/losable-redis.ts";
import { start } from "./start-fastify.ts";

const ten = fixedWindow({ limit: 10, window: "1d" });
const four = fixedWindow({ limit: 4, window: "1d" });
const redis = useLosableRedis();

/** An application with a plugin over a Redis that can be lost. */
async function withPlugin(options: Omit<HeadgateOptions, "store"> = {}): Promise<FastifyInstance> {
  const store = await redis.openStore();
  const app = Fastify({ logger: false });
  await app.register(headgate, {
    name: "api",
    limits: ten,
    store,
    storeTimeout: 300,
    key: () => "one",
    ...options,
  });
  app.get("/", async ({ rateLimit }) => rateLimit);
  return app;
}

describe("onUnavailable of a route without its own limits", () => {
  test("a route without limits counts with the plugin, and follows its own onUnavailable during an outage", async () => {
    const app = await withPlugin();
    const config = { rateLimit: { onUnavailable: "deny" } } as const;
    app.get("/pay", { config }, async ({ rateLimit }) => rateLimit);
    const sendRequest = await start(app);
    const left: unknown[] = [];
    for (const path of ["/", "/pay", "/", "/pay"]) {
      left.push((await sendRequest(path)).headers["x-ratelimit-remaining"]);
    }
    expect(left).toEqual(["9", "8", "7", "6"]);
    redis.lose();
    const refused = await sendRequest("/pay");
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({
      type: expect.stringMatching(/#temporary-reduced-capacity$/),
    });
    expect((await sendRequest("/")).json()).toMatchObject({ source: "local", remaining: 9 });
    expect((await sendRequest("/pay")).status).toBe(503);
    await redis.restore();
    // One of them was under way when the store was lost.
    expect((await sendRequest("/pay")).json()).toMatchObject({ source: "store", remaining: 4 });
    expect((await sendRequest("/")).json()).toMatchObject({ source: "store", remaining: 3 });
  });

  test('a route without limits counts locally with the plugin if both use "local"', async () => {
    const app = await withPlugin({ localShare: 0.5 });
    const config = { rateLimit: { storeTimeout: "50ms" } } as const;
    app.get("/other", { config }, async ({ rateLimit }) => rateLimit);
    const sendRequest = await start(app);
    redis.lose();
    const left: unknown[] = [];
    for (const path of ["/", "/other", "/"]) {
      left.push((await sendRequest(path)).headers["x-ratelimit-remaining"]);
    }
    expect(left).toEqual(["4", "3", "2"]);
  });

  test("onUnavailable of a route works with the plugin's tiers, each with its own counter", async () => {
    const app = await withPlugin({
      limits: byTier(
        { free: four, paid: ten },
        ({ headers }) => headers["x-tier"] as "free" | "paid",
      ),
    });
    const config = { rateLimit: { onUnavailable: "deny" } } as const;
    app.get("/pay", { config }, async ({ rateLimit }) => rateLimit);
    const sendRequest = await start(app);
    const asking = (path: string, tier: string) =>
      sendRequest(path, { headers: { "x-tier": tier } });
    expect((await asking("/", "free")).json()).toMatchObject({ remaining: 3 });
    expect((await asking("/pay", "free")).json()).toMatchObject({ remaining: 2 });
    expect((await asking("/pay", "paid")).json()).toMatchObject({ remaining: 9 });
    redis.lose();
    for (const tier of ["free", "paid"]) {
      expect((await asking("/pay", tier)).status).toBe(503);
      expect((await asking("/", tier)).json()).toMatchObject({ source: "local" });
    }
    expect((await asking("/", "free")).json()).toMatchObject({ remaining: 2 });
    expect((await asking("/", "paid")).json()).toMatchObject({ remaining: 8 });
  });
});

describe("a route with limits of its own", () => {
  test("a route with limits inherits onUnavailable and localShare", async () => {
    const app = await withPlugin({ localShare: 0.5 });
    const config = { rateLimit: { limits: four } };
    app.get("/own", { config }, async ({ rateLimit }) => rateLimit);
    const sendRequest = await start(app);
    redis.lose();
    expect((await sendRequest("/own")).json()).toMatchObject({
      source: "local",
      limit: 2,
      remaining: 1,
    });
  });

  test("a route with limits can override each of them", async () => {
    const app = await withPlugin({ localShare: 0.5, onUnavailable: "deny" });
    const config = { rateLimit: { limits: four, onUnavailable: "local" } } as const;
    app.get("/own", { config }, async ({ rateLimit }) => rateLimit);
    const sendRequest = await start(app);
    redis.lose();
    expect((await sendRequest("/own")).json()).toMatchObject({ source: "local", limit: 2 });
    expect((await sendRequest("/")).status).toBe(503);
  });

  test("a route with extend applies its own onUnavailable to both limiters", async () => {
    const app = await withPlugin();
    const config = { rateLimit: { limits: four, extend: true, onUnavailable: "deny" } } as const;
    app.get("/both", { config }, async ({ rateLimit }) => rateLimit);
    const sendRequest = await start(app);
    expect((await sendRequest("/both")).json()).toMatchObject({
      limits: [{ limit: 10 }, { limit: 4 }],
    });
    redis.lose();
    expect((await sendRequest("/both")).status).toBe(503);
    expect((await sendRequest("/")).json()).toMatchObject({ source: "local", remaining: 9 });
  });

  test("a route with limits inherits denyCache", async () => {
    const app = await withPlugin({ denyCache: false });
    app.get("/own", { config: { rateLimit: { limits: four, cost: 4 } } }, async () => "ok");
    const sources: string[] = [];
    app.addHook("onSend", async ({ rateLimit }) => {
      sources.push(`${rateLimit?.source}`);
    });
    const sendRequest = await start(app);
    for (const status of [200, 429, 429, 429])
      expect((await sendRequest("/own")).status).toBe(status);
    expect(sources.slice(-3)).toEqual(["store", "store", "store"]);
  });
});

test("app.rateLimit(...) inherits the options for outages, and can override them", async () => {
  const app = await withPlugin({ onUnavailable: "deny" });
  const inherits = app.rateLimit({ name: "inherits", limits: four });
  const names = app.rateLimit({ name: "names", limits: four, onUnavailable: "allow" });
  const without = app.rateLimit({ onUnavailable: "allow" });
  const config = { rateLimit: false } as const;
  app.get("/inherits", { config, preHandler: inherits }, async () => "never");
  app.get("/names", { config, preHandler: names }, async ({ rateLimit }) => rateLimit);
  app.get("/without", { config, preHandler: without }, async ({ rateLimit }) => rateLimit);
  const sendRequest = await start(app);
  expect((await sendRequest("/")).json()).toMatchObject({ remaining: 9 });
  expect((await sendRequest("/without")).json()).toMatchObject({ remaining: 8 });
  redis.lose();
  expect((await sendRequest("/inherits")).status).toBe(503);
  expect((await sendRequest("/names")).json()).toMatchObject({ source: "allow" });
  expect((await sendRequest("/without")).json()).toMatchObject({ source: "allow" });
});

test("a route's options are read when it is added", async () => {
  const app = await withPlugin();
  for (const rateLimit of [{ onUnavailable: "shut" }, { localShare: 2 }, { storeTimeout: 0 }]) {
    expect(() => app.get("/wrong", { config: { rateLimit } as never }, async () => "ok")).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  }
});
