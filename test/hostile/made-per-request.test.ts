import { setImmediate } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import type { Limiter, LimiterOptions } from "@headgate/core";
import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import Fastify from "fastify";
import { describe, expect, test } from "vitest";
import { uniquePrefix, useRedis } from "../http/support/redis-client.ts";
import { IS_LONG } from "./crowd.ts";
import { liveMebibytes } from "./memory-use.ts";

/** Limiters and breakers made in handlers, once for each request, and never closed: they must take no memory. */

const redis = useRedis();
const MADE = IS_LONG ? 20_000 : 5_000;
/** Of what takes longer to make. */
const FEW = IS_LONG ? 2_000 : 600;
const limits = () => gcra({ limit: 1_000_000, window: "1m" });
const patient = { storeTimeout: "1m" } as const;

/** Finalizers run between two turns of the event loop, and may free more objects. */
async function live(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    liveMebibytes();
    await setImmediate();
  }
  return liveMebibytes();
}

/** How many mebibytes stay when something is made many times, and used each hundredth time. */
async function growth(make: (i: number) => () => Promise<unknown>, made = MADE): Promise<number> {
  const run = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i += 1) {
      const use = make(i);
      if (i % 100 > 0) continue;
      await use();
      await setImmediate();
    }
  };
  await run(0, made / 10);
  const before = await live();
  await run(made / 10, made);
  return (await live()) - before;
}

function using(limiter: Limiter): () => Promise<unknown> {
  return () => limiter.consume("u");
}

/** A limiter on the run's Redis, by a store that is made anew as well. */
function onRedis(prefix: string, options: Partial<LimiterOptions> = {}): Limiter {
  const store = redisStore(redis, { prefix });
  return createLimiter({ name: "api", store, limits: limits(), ...patient, ...options });
}

describe("created for each request", () => {
  test("a limiter in memory takes less than 2 MB", async () => {
    const store = memoryStore();
    const make = () => using(createLimiter({ name: "api", store, limits: limits() }));
    expect(await growth(make)).toBeLessThan(2);
  });

  test("a limiter with a store of its own takes less than 2 MB", async () => {
    const make = () => using(createLimiter({ limits: limits() }));
    expect(await growth(make, FEW)).toBeLessThan(2);
  });

  test("a limiter on Redis takes less than 2 MB", async () => {
    const prefix = uniquePrefix();
    expect(await growth(() => using(onRedis(prefix)))).toBeLessThan(2);
  });

  test("a limiter on Redis with limits of the call takes less than 2 MB", async () => {
    const prefix = uniquePrefix();
    const make = (i: number) => () =>
      onRedis(prefix).consume("u", { limits: gcra({ limit: 100 + (i % 7), window: "1m" }) });
    expect(await growth(make)).toBeLessThan(2);
  });

  test("a limiter with leases, and one that extends it, take less than 2 MB", async () => {
    const prefix = uniquePrefix();
    const make = () => {
      const leasing = onRedis(prefix, { lease: { max: 10, ttl: "1m" } });
      const parent = onRedis(prefix, { name: "parent" });
      const child = onRedis(prefix, { name: "child", extends: parent });
      return () => Promise.all([leasing, child].map((limiter) => limiter.consume("u")));
    };
    expect(await growth(make)).toBeLessThan(2);
  });

  test("limiters of one name whose options always differ take less than 2 MB", async () => {
    const prefix = uniquePrefix();
    const make = (i: number) => using(onRedis(prefix, { maxQueue: 1 + i }));
    expect(await growth(make, FEW)).toBeLessThan(2);
  });

  test("middleware takes less than 2 MB", async () => {
    const prefix = uniquePrefix();
    const make = () => {
      const store = redisStore(redis, { prefix });
      return using(rateLimit({ name: "api", store, limits: limits(), ...patient }).limiter);
    };
    expect(await growth(make, FEW)).toBeLessThan(2);
  });

  test("a breaker takes less than 2 MB", async () => {
    const prefix = uniquePrefix();
    const make = () => {
      const store = redisStore(redis, { prefix });
      const breaker = createBreaker({ name: "api", store, ...patient });
      return () => breaker.run(async () => 1);
    };
    expect(await growth(make)).toBeLessThan(2);
  });
});

test("1,000 requests to a route that makes its limiter take less than 2 MB", async () => {
  const prefix = uniquePrefix();
  const app = Fastify();
  app.get("/", async ({ ip }) => (await onRedis(prefix).consume(ip)).remaining);
  const ask = () => async () => expect((await app.inject("/")).statusCode).toBe(200);
  for (let i = 0; i < 200; i += 1) await ask()();
  const before = await live();
  for (let i = 0; i < 1_000; i += 1) await ask()();
  expect((await live()) - before).toBeLessThan(2);
  await app.close();
});

test("only the last 1,000 of 2,500 names are kept", async () => {
  const prefix = uniquePrefix();
  const make = (from: number) => (i: number) => using(onRedis(prefix, { name: `of ${from + i}` }));
  await growth(make(0), 2_500);
  // As many again, and no more room.
  expect(await growth(make(10_000), 2_500)).toBeLessThan(3);
});
