import type { Policy } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { freePort } from "../support/free-port.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { readCommandStats } from "./command-stats.ts";

const redis = useOwnRedis();
const limits = gcra({ limit: 100, window: "1h" });

beforeEach(async () => {
  watchWarnings();
  await redis.client.script("FLUSH");
  await redis.client.config("RESETSTAT");
});
afterEach(() => redis.server.thaw());

function lazy(options: object = {}) {
  const client = new Redis({ path: redis.server.socket, lazyConnect: true, ...options });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** How many scripts came with their text. */
async function texts(): Promise<number> {
  return (await readCommandStats(redis.client, "eval")).calls;
}

describe("ready", () => {
  test.each<[string, Policy]>([
    ["one limit", limits],
    ["several of all kinds", [limits, slidingLog({ limit: 5, window: "1m" })]],
    ["a calendar", fixedWindow({ limit: 5, window: "day", timeZone: "Asia/Tokyo" })],
    ["slots", concurrency({ limit: 2, ttl: "1m" })],
    ["limits with a block", slidingLog({ limit: 5, window: "1m", block: "1h" })],
    [
      "two dimensions",
      [
        gcra({ limit: 5, window: "1m", per: "ip" }),
        gcra({ limit: 9, window: "1m", per: "global" }),
      ],
    ],
  ])("ready connects and loads the scripts of %s, and counts nothing", async (_, policy) => {
    const store = redisStore(lazy(), { registry: false });
    const limiter = createLimiter({ name: "api", store, limits: policy });
    onTestFinished(() => limiter.close());
    expect(await limiter.ready()).toBe(true);
    expect(await redis.client.dbsize()).toBe(0);
    const loaded = await texts();
    const subject = limiter.limits.some(({ per }) => per === "ip") ? { ip: "ann" } : "ann";
    const decisions = await Promise.all([limiter.consume(subject), limiter.consume(subject)]);
    await limiter.peek(subject);
    expect(decisions.map(({ source }) => source)).toEqual(["store", "store"]);
    expect(await texts()).toBe(loaded);
  });

  test("ready waits for a node-redis client that is connecting", async () => {
    const client = createClient({ socket: { path: redis.server.socket, tls: false } });
    client.on("error", () => {});
    const connecting = client.connect();
    onTestFinished(() => client.destroy());
    const limiter = createLimiter({ name: "api", store: redisStore(client), limits });
    onTestFinished(() => limiter.close());
    expect(await limiter.ready()).toBe(true);
    await connecting;
  });

  test("ready resolves with false if the store is unavailable", async () => {
    const refused = lazy({ path: undefined, port: await freePort() });
    const frozen = lazy();
    redis.server.freeze();
    for (const client of [refused, frozen]) {
      const options = { storeTimeout: 20, connectTimeout: 200 } as const;
      const limiter = createLimiter({ name: "api", store: redisStore(client), limits, ...options });
      onTestFinished(() => limiter.close());
      expect(await limiter.ready()).toBe(false);
      expect(await limiter.consume("ann")).toMatchObject({ source: "local" });
    }
  });

  test("ready resolves with true at once in memory, and rejects after close", async () => {
    const limiter = createLimiter({ name: "api", store: memoryStore(), limits });
    expect(await limiter.ready()).toBe(true);
    await limiter.close();
    await expect(limiter.ready()).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("ready of middleware is that of its limiters", async () => {
    const middleware = rateLimit({ name: "api", store: redisStore(lazy()), limits });
    onTestFinished(() => middleware.close());
    expect(await middleware.ready()).toBe(true);
    const store = redisStore(lazy({ path: undefined, port: await freePort() }));
    const away = rateLimit({ name: "api", store, limits });
    onTestFinished(() => away.close());
    expect(await away.ready()).toBe(false);
  });
});

describe("a Fastify application", () => {
  async function boot(client: Redis, pluginTimeout = 10_000) {
    const app = Fastify({ pluginTimeout });
    onTestFinished(() => app.close());
    const connectTimeout = "30s";
    await app.register(headgate, {
      name: "api",
      store: redisStore(client),
      limits,
      connectTimeout,
    });
    app.get("/", async () => "ok");
    app.get(
      "/own",
      { config: { rateLimit: { limits: slidingLog({ limit: 5, window: "1m" }) } } },
      async () => "ok",
    );
    await app.ready();
    return app;
  }

  test("a Fastify application has its stores ready before it listens, including those of its routes", async () => {
    const app = await boot(lazy());
    const loaded = await texts();
    for (const url of ["/", "/own"]) expect((await app.inject(url)).statusCode).toBe(200);
    expect(await texts()).toBe(loaded);
    expect(await app.headgate.ready()).toBe(true);
  });

  test("a Fastify application starts without an unavailable store, before Fastify times out", async () => {
    const refused = await boot(lazy({ path: undefined, port: await freePort() }));
    expect((await refused.inject("/")).statusCode).toBe(200);
    redis.server.freeze();
    const began = performance.now();
    await boot(lazy(), 1_000);
    expect(performance.now() - began).toBeLessThan(15_000);
    redis.server.thaw();
  });
});
