import { createLimiter, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { readCommandStats, resetCommandStats } from "./command-stats.ts";
import { STORE_ALONE } from "./store-alone.ts";

let server: RedisProcess;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
});
afterAll(async () => {
  await redis.quit();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  await redis.script("FLUSH");
  await resetCommandStats(redis);
});

test("20,000 policies leave the scripts of two layouts on the server", async () => {
  const base = [gcra({ limit: 30, window: "1m" }), gcra({ limit: 900, window: "1h" })];
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "plans",
    limits: base,
    store: redisStore(redis),
  });
  await limiter.consume("alone");
  for (let from = 0; from < 20_000; from += 500) {
    const calls = Array.from({ length: 500 }, (_, i) => {
      const plan = from + i;
      const limits = [
        gcra({ limit: 31 + plan, window: "1m", ...(plan % 2 === 1 && { burst: 10 }) }),
        gcra({ limit: 901 + plan, window: "1h", ...(plan % 3 === 1 && { burst: 20 }) }),
      ];
      return limiter.consume(`customer ${plan % 700}`, { limits });
    });
    const decisions = await Promise.all(calls);
    for (const { source, limits } of decisions) {
      expect(source).toBe("store");
      expect(limits.map(({ name }) => name)).toEqual(["30-per-1m", "900-per-1h"]);
    }
    await limiter.consume("alone", {
      limits: [gcra({ limit: 31, window: "1m", burst: 1 + from }), base[1] as (typeof base)[0]],
    });
  }
  // A lone decision and a batch, under as many numbers as the base has, and under as many as there can be.
  const scripts = /number_of_cached_scripts:(\d+)/.exec(await redis.info("memory"))?.[1];
  expect(Number(scripts)).toBeLessThanOrEqual(4);
  expect((await readCommandStats(redis, "eval")).calls).toBeLessThanOrEqual(4);
  await limiter.close();
});

test("eight processes under rolling numbers admit no more than the largest of them", async () => {
  const per = (limit: number) => slidingLog({ limit, window: "366d" });
  const clients = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const client = new Redis(server.socket, { lazyConnect: true });
      await client.connect();
      return client;
    }),
  );
  const admitted = await Promise.all(
    clients.map(async (client, caller) => {
      const limiter = createLimiter({
        ...STORE_ALONE,
        name: "rolling",
        limits: per(30),
        store: redisStore(client),
      });
      let count = 0;
      for (let i = 0; i < 100; i += 1) {
        const limits = per([20, 60, 120, 240][(caller + i) % 4] as number);
        if ((await limiter.consume("u", { limits })).allowed) count += 1;
      }
      await limiter.close();
      return count;
    }),
  );
  const total = admitted.reduce((sum, count) => sum + count, 0);
  expect(total).toBeGreaterThan(120);
  expect(total).toBeLessThanOrEqual(240);
  await Promise.all(clients.map((client) => client.quit()));
});
