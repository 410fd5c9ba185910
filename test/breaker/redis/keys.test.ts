import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
/** Time that passes between a write and a look, on a busy machine. */
const PASSED = 5 * SECOND;
const PERIOD = "hg:{default}:breaker/keys";

let server: RedisProcess;
let redis: Redis;
const started: Breaker[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => redis.flushall());
afterEach(async () => {
  for (const breaker of started.splice(0)) await breaker.close();
});

function start(options: BreakerOptions = {}): Breaker {
  const store = redisStore(redis);
  const breaker = createBreaker({ name: "keys", store, storeTimeout: "1m", ...options });
  started.push(breaker);
  return breaker;
}

/** Opens it, and waits until its time is up, which is short. */
async function passOpen(breaker: Breaker): Promise<void> {
  await breaker.record("failure");
  const { state, retryAfterMs } = await breaker.snapshot();
  expect(state).toBe("open");
  // A timer may be a millisecond early.
  await new Promise((resolve) => setTimeout(resolve, retryAfterMs + 1));
}

/** The milliseconds that each key has left, by its name; the window's name is short here. */
async function ttls(): Promise<{ readonly period?: number; readonly window?: number }> {
  const found: { period?: number; window?: number } = {};
  for (const key of await redis.keys("*")) {
    found[key === PERIOD ? "period" : "window"] = await redis.pttl(key);
  }
  return found;
}

/** Just below a time. */
function nearly(milliseconds: number): unknown {
  return expect.toSatisfy(
    (ttl: number) => ttl <= milliseconds + 1 && ttl > milliseconds - PASSED,
    `within ${PASSED} ms below ${milliseconds} ms`,
  );
}

describe("expiry of keys", () => {
  const short = { minimumCalls: 1, openFor: 20, trialCalls: 1, window: "10m" } as const;
  const WINDOW = 600 * SECOND;
  /** How long a trial call holds its place, whatever becomes of it. */
  const LEASE = 31 * SECOND;

  test("a closed target is one key that expires with its window", async () => {
    const breaker = start(short);
    await breaker.record("success");
    await breaker.snapshot();
    expect(await ttls()).toEqual({ window: nearly(WINDOW) });
  });

  test("an open target's state expires a day after openFor", async () => {
    const breaker = start({ ...short, openFor: "1h" });
    await breaker.record("failure");
    await breaker.snapshot();
    expect(await ttls()).toEqual({ period: nearly(3_600 * SECOND + DAY), window: nearly(WINDOW) });
  });

  test("a half-open target's state expires a day after its leases could end", async () => {
    const breaker = start({ ...short, trialCalls: 2 });
    await passOpen(breaker);
    const permit = await breaker.admit();
    expect(permit.state).toBe("half-open");
    expect(await ttls()).toEqual({ period: nearly(DAY + LEASE), window: nearly(WINDOW) });
    await redis.pexpire(PERIOD, 1_000);
    await permit.record("success");
    expect(await ttls()).toEqual({ period: nearly(DAY + LEASE), window: nearly(WINDOW) });
  });

  test("a closed target's state expires a day after closing, the longest window and ramp", async () => {
    const breaker = start({ ...short, rampUp: "2h" });
    await passOpen(breaker);
    const permit = await breaker.admit();
    await permit.record("success");
    expect((await breaker.snapshot()).state).toBe("closed");
    expect(await ttls()).toEqual({ period: nearly(DAY), window: nearly(WINDOW) });
    await redis.pexpire(PERIOD, 1_000);
    await breaker.reset();
    expect(await ttls()).toEqual({ period: nearly(DAY), window: nearly(WINDOW) });
  });

  test.each(["forceOpen", "disable", "metricsOnly"] as const)(
    "a state set by %s expires a week after the last call",
    async (order) => {
      let now = 1_800_000_000_000;
      const breaker = start({ ...short, store: redisStore(redis, { clock: () => now }) });
      await breaker[order]();
      expect(await ttls()).toEqual({ period: nearly(7 * DAY) });
      // Not each look is worth a write.
      await redis.pexpire(PERIOD, 6 * DAY);
      now += DAY;
      await breaker.snapshot();
      expect(await ttls()).toEqual({ period: nearly(6 * DAY) });
      now += SECOND;
      await breaker.snapshot();
      expect(await ttls()).toEqual({ period: nearly(7 * DAY) });
    },
  );

  test("a window of calls expires after a day", async () => {
    const breaker = start({ ...short, window: { calls: 5 } });
    await breaker.record("success");
    await breaker.snapshot();
    expect(await ttls()).toEqual({ window: nearly(DAY) });
    await breaker.record("failure");
    await passOpen(breaker);
    const permit = await breaker.admit();
    await permit.record("success");
    expect(await ttls()).toEqual({ period: nearly(DAY), window: nearly(DAY) });
  });

  test("keys on a custom clock expire after at least a day", async () => {
    const now = 1_800_000_000_000;
    const breaker = start({
      ...short,
      window: 1,
      store: redisStore(redis, { clock: () => now }),
    });
    await breaker.record("failure");
    await breaker.snapshot();
    const found = await ttls();
    expect(found.window).toEqual(nearly(DAY));
    expect(found.period).toEqual(nearly(DAY + short.openFor));
  });
});

describe("memory use", () => {
  const sizeOf = async (): Promise<number> => {
    let bytes = 0;
    for (const key of await redis.keys("*")) bytes += Number(await redis.memory("USAGE", key));
    return bytes;
  };

  test.each([
    { title: "a window of time", window: "5m", fill: 100 },
    { title: "the last 100 calls", window: { calls: 100 }, fill: 100 },
    { title: "the last 10,000 calls", window: { calls: 10_000 }, fill: 10_000 },
  ] as const)("a target's memory is constant after a million outcomes: $title", async (options) => {
    const breaker = start({ window: options.window, minimumSuccessRate: 0, slowCall: 1 });
    const record = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1) {
        void breaker.record(i % 3 === 0 ? "failure" : "success", i % 2);
        if (i % 5_000 === 0) await breaker.snapshot();
      }
      await breaker.snapshot();
    };
    await record(options.fill);
    const full = await sizeOf();
    await record(1_000_000 - options.fill);
    expect(await sizeOf()).toBe(full);
    const { calls } = await breaker.snapshot();
    expect(calls).toBe(typeof options.window === "string" ? 1_000_000 : options.window.calls);
    console.log(`${options.title}: ${full} bytes`);
  });

  test("a trial call in flight uses 20 bytes, which its end frees", async () => {
    const breaker = start({ minimumCalls: 1, openFor: 20, trialCalls: 100 });
    await passOpen(breaker);
    const none = await redis.strlen(PERIOD);
    const permits = await Promise.all(Array.from({ length: 300 }, () => breaker.admit()));
    const held = permits.filter(({ allowed }) => allowed);
    expect(held).toHaveLength(100);
    expect(await redis.strlen(PERIOD)).toBe(none + 100 * 20);
    for (const permit of held) await permit.record("success");
    expect(await redis.strlen(PERIOD)).toBe(none);
  });
});
