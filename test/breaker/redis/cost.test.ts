import { setImmediate as nextTurn } from "node:timers/promises";
import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { readCommandStats, resetCommandStats } from "../../redis/command-stats.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";

const CALLS = 10_000;
const FLUSH_INTERVAL_MS = 250;
/** So many outcomes are sent without waiting for more. */
const MANY = 1_000;

let server: RedisProcess;
let redis: Redis;
let admin: Redis;
let breaker: Breaker<string>;
let now: number;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
  admin = new Redis(server.socket);
});
afterAll(async () => {
  redis.disconnect();
  admin.disconnect();
  await server.stop();
});
beforeEach(async () => {
  now = 1_800_000_000_000;
  await admin.flushall();
});
afterEach(() => breaker.close());

function start(options: Partial<BreakerOptions<string>> = {}, isOnClock = false): Breaker<string> {
  const store = redisStore(redis, isOnClock ? { clock: () => now } : {});
  breaker = createBreaker({ name: "cheap", store, storeTimeout: "1m", ...options });
  return breaker;
}

/** A breaker that is open, on the clock of the test. */
async function startOpen(options: Partial<BreakerOptions<string>> = {}): Promise<Breaker<string>> {
  start({ minimumCalls: 1, openFor: "30s", ...options }, true);
  await breaker.record("failure");
  expect((await breaker.snapshot()).state).toBe("open");
  return breaker;
}

/** Waits until the server has executed earlier commands of this connection. */
async function allDone(): Promise<void> {
  await nextTurn();
  await redis.ping();
}

/** The operations on targets since the statistics were reset: each reads two keys. */
async function readOperations(): Promise<number> {
  return (await readCommandStats(admin, "getrange")).calls / 2;
}

/** The round trips to the server while a task runs. */
async function roundTripsOf(work: () => Promise<unknown>): Promise<number> {
  await resetCommandStats(admin);
  await work();
  await allDone();
  const info = await admin.info("commandstats");
  const names = [...info.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name]) => name as string);
  const ours = names.filter((name) => !/^(config|ping|info|client|getrange|set|time)/.test(name));
  expect(ours.filter((name) => name !== "evalsha" && name !== "eval")).toEqual([]);
  const [digest, text] = [
    await readCommandStats(admin, "evalsha"),
    await readCommandStats(admin, "eval"),
  ];
  return digest.calls + text.calls;
}

const refused = { fallback: () => "fallback" };

test("10,000 calls to a healthy upstream make a few reports", async () => {
  start();
  await breaker.run(() => "fine");
  await breaker.snapshot();
  const since = performance.now();
  const trips = await roundTripsOf(async () => {
    for (let i = 0; i < CALLS; i += 1) await breaker.run(async () => "fine");
    // Nobody waits for reports: they are sent as soon as this process lets go.
    await breaker.snapshot();
  });
  const tookMs = performance.now() - since;
  const operations = await readOperations();
  expect(trips).toBeGreaterThan(0);
  expect(operations).toBeGreaterThanOrEqual(trips);
  expect(operations).toBeLessThanOrEqual(CALLS / MANY + Math.ceil(tookMs / FLUSH_INTERVAL_MS) + 1);
  const set = await readCommandStats(admin, "set");
  expect(set.calls).toBeLessThanOrEqual(operations);
  expect(await breaker.snapshot()).toMatchObject({ calls: CALLS + 1, failures: 0 });
  console.log(`${CALLS} calls in ${tookMs.toFixed(0)} ms: ${trips} scripts, ${set.calls} writes`);
});

test("slow traffic makes one report per flushInterval", async () => {
  start({ flushInterval: 100 });
  await breaker.run(() => "fine");
  const since = performance.now();
  const trips = await roundTripsOf(async () => {
    while (performance.now() - since < 1_000) {
      await breaker.run(() => "fine");
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
  const intervals = (performance.now() - since) / 100;
  expect(trips).toBeLessThanOrEqual(intervals + 1);
  expect(trips).toBeGreaterThan(intervals / 3);
});

test("an open breaker makes one request per second, to see manual state changes", async () => {
  await startOpen();
  const roundTrips = await roundTripsOf(async () => {
    for (let i = 0; i < CALLS; i += 1) {
      expect(await breaker.run(() => "upstream", refused)).toBe("fallback");
    }
  });
  expect(roundTrips).toBe(0);
  const looks = await roundTripsOf(async () => {
    for (let i = 0; i < 299; i += 1) {
      now += 100;
      expect(await breaker.run(() => "upstream", refused)).toBe("fallback");
      // Clocks that jump while a look is under way are not this test's.
      await allDone();
      await nextTurn();
    }
  });
  expect(looks).toBeLessThanOrEqual(29);
  expect(looks).toBeGreaterThan(20);
  now += 100;
  const trial = await roundTripsOf(async () => {
    expect(await breaker.run(() => "upstream", refused)).toBe("upstream");
  });
  // Its admission and its outcome.
  expect(trial).toBe(2);
});

test("a trial call makes two round trips, and calls without a free trial slot make none", async () => {
  await startOpen({ trialCalls: 2 });
  now += 30_000;
  const first = await roundTripsOf(() => breaker.admit());
  expect(first).toBe(1);
  const second = await breaker.admit();
  expect(second.allowed).toBe(true);
  const full = await roundTripsOf(async () => {
    for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(false);
  });
  expect(full).toBe(0);
  expect(await roundTripsOf(() => second.record("success"))).toBe(1);
  expect(await roundTripsOf(() => second.record("success"))).toBe(0);
});

test("a snapshot and a manual state change make one round trip each", async () => {
  await startOpen();
  // The server gets the script once.
  await breaker.reset();
  expect(await roundTripsOf(() => breaker.snapshot())).toBe(1);
  for (const order of ["forceOpen", "disable", "metricsOnly", "reset"] as const) {
    expect(await roundTripsOf(() => breaker[order]())).toBe(1);
  }
});

test("with a flushInterval of 0 a call makes two round trips, and record one", async () => {
  start({ flushInterval: 0 });
  await breaker.run(() => "fine");
  await breaker.snapshot();
  const trips = await roundTripsOf(async () => {
    for (let i = 0; i < 100; i += 1) {
      await breaker.run(() => "fine");
      await nextTurn();
    }
  });
  expect(trips).toBe(200);
  expect(await readOperations()).toBe(200);
  expect(await roundTripsOf(() => breaker.record("success"))).toBe(1);
});

test("consecutive calls report one outcome and request the next call in one round trip", async () => {
  start({ flushInterval: 0 });
  await breaker.run(() => "fine");
  await breaker.snapshot();
  const trips = await roundTripsOf(async () => {
    for (let i = 0; i < 100; i += 1) await breaker.run(() => "fine");
  });
  // The first request has no outcome, and the last outcome is sent without a request.
  expect(trips).toBe(101);
  expect(await readOperations()).toBe(200);
});
