import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { freePort } from "../support/free-port.ts";
import { useOwnRedis } from "../support/own-redis.ts";

const redis = useOwnRedis();
const limits = gcra({ limit: 100, window: "1h" });

beforeEach(() => void watchWarnings());
afterEach(() => redis.server.thaw());

const CLIENTS = [
  {
    library: "ioredis",
    connect(to: { path?: string; port?: number }) {
      const client = new Redis({ ...to, retryStrategy: () => 50 });
      client.on("error", () => {});
      onTestFinished(() => client.disconnect());
      return client;
    },
  },
  {
    library: "node-redis",
    connect(to: { path?: string; port?: number }) {
      const socket = to.path === undefined ? { port: to.port as number } : { path: to.path };
      const client = createClient({ socket });
      client.on("error", () => {});
      client.connect().catch(() => {});
      onTestFinished(() => client.destroy());
      return client;
    },
  },
] as const;

describe.each(CLIENTS)("a client of $library", ({ connect }) => {
  function start(
    to: { path?: string; port?: number },
    storeTimeout: number,
    connectTimeout: number,
  ) {
    const store = redisStore(connect(to));
    const limiter = createLimiter({ name: "api", store, limits, storeTimeout, connectTimeout });
    onTestFinished(() => limiter.close());
    return async () => {
      const began = performance.now();
      const { source } = await limiter.consume("ann");
      return { source, ms: performance.now() - began };
    };
  }

  test("the first decision of a client waits for connectTimeout, and later ones do not", async () => {
    redis.server.freeze();
    const request = start({ path: redis.server.socket }, 50, 2_000);
    const first = await request();
    expect(first.source).toBe("local");
    expect(first.ms).toBeGreaterThan(1_990);
    expect((await request()).ms).toBeLessThan(1_900);
    redis.server.thaw();
    await expect.poll(async () => (await request()).source).toBe("store");
    redis.server.freeze();
    const later = await request();
    expect(later.source).toBe("local");
    expect(later.ms).toBeLessThan(1_900);
  });

  test("a client that connects late, but within connectTimeout, decides in Redis", async () => {
    redis.server.freeze();
    const request = start({ path: redis.server.socket }, 50, 30_000);
    const pending = request();
    await new Promise((resolve) => setTimeout(resolve, 300));
    redis.server.thaw();
    const { source, ms } = await pending;
    expect(source).toBe("store");
    expect(ms).toBeGreaterThan(290);
  });

  test("a client whose connection is refused is not waited for", async () => {
    const request = start({ port: await freePort() }, 20_000, 30_000);
    const { source, ms } = await request();
    expect(source).toBe("local");
    expect(ms).toBeLessThan(15_000);
  });
});
