import { AsyncLocalStorage } from "node:async_hooks";
import type { ChargeResult, Decision, Limit } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { readCommandStats, resetCommandStats } from "./command-stats.ts";
import { degradedDuring } from "./degraded-decisions.ts";
import { STORE_ALONE } from "./store-alone.ts";

let server: RedisProcess;
let redis: Redis;
let admin: Redis;
const open: { close(): Promise<unknown> }[] = [];

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
beforeEach(() => redis.flushall());
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

function keep<T extends { close(): Promise<unknown> }>(limiter: T): T {
  open.push(limiter);
  return limiter;
}

/** Loads the scripts of one call and of several, so that every call is by digest. */
async function startWarm(limits: Limit | Limit[], name = "batches") {
  const limiter = keep(createLimiter({ ...STORE_ALONE, name, limits, store: redisStore(redis) }));
  await limiter.consume("warm");
  await Promise.all([limiter.consume("warm"), limiter.consume("warm")]);
  await resetCommandStats(admin);
  return limiter;
}

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed + 1);

describe("concurrent decisions", () => {
  test("concurrent decisions go to Redis in batches of up to 64, and all are made", async () => {
    const limiter = await startWarm(gcra({ limit: 100, window: "1h" }));
    const subjects = Array.from({ length: 256 }, (_, i) => `user-${i % 2}`);
    const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)));
    expect((await readCommandStats(admin, "evalsha")).calls).toBe(5);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(200);
    // Each call writes each counter once, and the last one only denies.
    const writes = ["set", "setrange"].map((name) => readCommandStats(admin, name));
    const calls = (await Promise.all(writes)).map((stats) => stats.calls);
    expect(calls.reduce((sum, some) => sum + some)).toBe(8);
  });

  test("a key lives as long as the last decision of a batch needs", async () => {
    const limiter = await startWarm(gcra({ limit: 1_000, window: "1000s" }), "lifetime");
    const both = await Promise.all([limiter.consume("u"), limiter.consume("u", { cost: 900 })]);
    expect(both.map(({ allowed }) => allowed)).toEqual([true, true]);
    const [key] = await redis.keys("*{u}*");
    expect(await redis.pttl(key as string)).toBeGreaterThan(900_000);
  });

  test("sequential decisions are one call each", async () => {
    const limiter = await startWarm(gcra({ limit: 100, window: "1h" }));
    for (let i = 0; i < 10; i += 1) await limiter.consume("u");
    expect((await readCommandStats(admin, "evalsha")).calls).toBe(10);
  });

  test("decisions of several limiters are batched if they share a client and a prefix", async () => {
    const one = await startWarm(gcra({ limit: 5, window: "1h" }), "one");
    const two = await startWarm(slidingLog({ limit: 2, window: "1h" }), "two");
    // Each store has a queue of its own.
    const both = await Promise.all([one.consume("u"), two.consume("u", { cost: 2 })]);
    expect(both.map(({ remaining }) => remaining)).toEqual([4, 0]);
    const store = redisStore(redis);
    const limiters = [1, 2, 3].map((limit) =>
      keep(
        createLimiter({
          ...STORE_ALONE,
          name: `limiter ${limit}`,
          limits: fixedWindow({ limit, window: "1h" }),
          store,
        }),
      ),
    );
    await resetCommandStats(admin);
    const decisions = await Promise.all(limiters.map((limiter) => limiter.consume("u")));
    expect(decisions.map(({ remaining }) => remaining)).toEqual([0, 1, 2]);
    // The first call of a script sends its text.
    expect((await readCommandStats(admin, "eval")).calls).toBe(1);
    expect((await readCommandStats(admin, "evalsha")).calls).toBe(0);
  });

  test.each(SEEDS)("batched decisions equal sequential ones: seed %i", async (seed) => {
    const random = new Random(seed);
    let now = 1_800_000_000_000;
    const clock = () => now;
    const limits = [
      gcra({ limit: 30, window: 1_000, burst: 5 }),
      tokenBucket({ capacity: 7, refill: 20, every: 1_000, name: "bucket" }),
      fixedWindow({ limit: 9, window: 700, per: "tenant" }),
      slidingWindow({ limit: 9, window: 800, buckets: 4, per: "tenant" }),
      slidingLog({ limit: 8, window: 600, per: "user", name: "log" }),
    ].filter(() => random.whole(0, 2) > 0);
    if (limits.length === 0) limits.push(gcra({ limit: 3, window: 1_000 }));
    const options = { ...STORE_ALONE, name: `in order ${seed}`, limits: limits as Limit[] };
    const together = keep(createLimiter({ ...options, store: redisStore(redis, { clock }) }));
    const apart = keep(createLimiter({ ...options, store: memoryStore({ clock }) }));
    const dimensions = new Set(limits.map(({ per = "default" }) => per));
    // A script that the server does not know is sent once more, and arrives later.
    const warm = Object.fromEntries([...dimensions].map((dimension) => [dimension, "warm"]));
    await together.consume(warm);
    await together.charge(warm);
    await Promise.all([together.peek(warm), together.consume(warm), together.consume(warm)]);
    for (let round = 0; round < 12; round += 1) {
      const asks = Array.from({ length: 1 + random.whole(0, 149) }, () => ({
        subject: Object.fromEntries(
          [...dimensions].map((dimension) => [dimension, `s${random.whole(0, 2)}`]),
        ),
        cost: 1 + (random.chance(0.25) ? random.whole(0, 3) : 0),
        peeks: random.whole(0, 4) === 0,
        charges: random.whole(0, 9) === 0,
      }));
      const consumeAll = (limiter: typeof together) =>
        asks.map(({ subject, cost, peeks, charges }) => {
          if (charges) return limiter.charge(subject, { cost: 1 });
          return peeks ? limiter.peek(subject, { cost }) : limiter.consume(subject, { cost });
        });
      const expected: (ChargeResult | Decision)[] = [];
      for (const decision of consumeAll(apart)) expected.push(await decision);
      const decisions = await Promise.all(consumeAll(together));
      expect(decisions).toEqual(expected);
      // A receipt of a decision that was taken among others is as good as any.
      const charged = decisions.findIndex(
        (one, i) => "allowed" in one && one.allowed && !asks[i]?.peeks,
      );
      if (charged >= 0 && random.whole(0, 1) === 0) {
        expect(await together.refund(decisions[charged] as Decision)).toBe(
          await apart.refund(expected[charged] as Decision),
        );
      }
      now += random.whole(0, 299);
    }
  });

  test("on a custom clock, each batched decision keeps its own time", async () => {
    let now = 1_800_000_000_000;
    const store = redisStore(redis, { clock: () => now });
    const limits = slidingLog({ limit: 1, window: 10 });
    const limiter = keep(createLimiter({ ...STORE_ALONE, name: "replay", limits, store }));
    // The first decision of a process waits for the control record.
    await limiter.peek("u");
    const replayed = [];
    for (let i = 0; i < 100; i += 1) {
      replayed.push(limiter.consume("u"));
      now += 1;
    }
    const admitted = (await Promise.all(replayed)).flatMap(({ allowed }, i) =>
      allowed ? [i] : [],
    );
    expect(admitted).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
  });
});

test("a charge made before the clock stepped back is not refunded after it", async () => {
  let now = 1_800_000_000_000;
  const store = redisStore(redis, { clock: () => now });
  const limits = gcra({ limit: 10, window: "1h" });
  const limiter = keep(createLimiter({ ...STORE_ALONE, name: "step", limits, store }));
  const before = await limiter.consume("u", { cost: 3 });
  now -= 60_000;
  expect((await limiter.consume("u")).remaining).toBe(6);
  // As late as the charge says it came.
  now += 60_000;
  expect(await limiter.refund(before)).toBe(false);
});

describe("a decision that fails", () => {
  test("a decision that fails because of a wrong type fails alone, and charges nothing", async () => {
    const limits = [
      gcra({ limit: 5, window: "1h" }),
      slidingLog({ limit: 5, window: "1h", per: "tenant" }),
    ];
    const limiter = await startWarm([gcra({ limit: 5, window: "1h" })], "warm it");
    await limiter.close();
    const shared = keep(
      createLimiter({ ...STORE_ALONE, name: "shared", limits, store: redisStore(redis) }),
    );
    await shared.consume({ default: "bad", tenant: "t" });
    const [key] = await redis.keys("*{bad}*shared*");
    await redis.del(key as string);
    await redis.lpush(key as string, "a list");
    const subjects = ["a", "bad", "b", "bad", "a"];
    const reasons = await degradedDuring(async () => {
      const decisions = await Promise.all(
        subjects.map((subject) => shared.consume({ default: subject, tenant: "t" })),
      );
      expect(decisions.map(({ source }) => source)).toEqual([
        "store",
        "local",
        "store",
        "local",
        "store",
      ]);
      expect(decisions.map(({ limits: [own] }) => own?.remaining)).toEqual([4, 4, 4, 3, 3]);
    });
    expect(reasons.map(({ reason }) => reason.code)).toEqual([
      "HEADGATE_WRONG_TYPE",
      "HEADGATE_WRONG_TYPE",
    ]);
    // Four were charged: one before, three of the five.
    expect((await shared.peek({ default: "a", tenant: "t" })).limits[1]?.remaining).toBe(0);
  });

  test("a decision that timed out before it was sent charges nothing", async () => {
    const limits = gcra({ limit: 10_000, window: "366d" });
    const patient = await startWarm(limits, "not sent");
    const store = redisStore(redis);
    const limiter = keep(
      createLimiter({ ...STORE_ALONE, name: "not sent", limits, store, storeTimeout: 50 }),
    );
    server.freeze();
    try {
      // Sixteen calls of 64 are under way at most; the others wait, and are given up.
      const decisions = await Promise.all(
        Array.from({ length: 1_100 }, () => limiter.consume("u")),
      );
      expect(decisions.every(({ degraded }) => degraded)).toBe(true);
    } finally {
      server.thaw();
    }
    // The look itself is reported as if it had been charged.
    expect((await patient.peek("u")).remaining).toBe(10_000 - 16 * 64 - 1);
  });
});

describe("calls of several kinds", () => {
  test("refunds in sliding logs, which have to be searched, do not block the server for long", async () => {
    const limits = slidingLog({ limit: 100_000, window: "1h" });
    const limiter = await startWarm(limits, "refunds");
    const subjects = Array.from({ length: 64 }, (_, i) => `user-${i}`);
    const request = () => Promise.all(subjects.map((subject) => limiter.consume(subject)));
    const old = await request();
    for (let i = 0; i < 950; i += 1) await request();
    await limiter.refund(await limiter.consume("warm"));
    await resetCommandStats(admin);
    await Promise.all(old.map((decision) => limiter.refund(decision)));
    // Each may look through 950 entries; four go together at most.
    expect((await readCommandStats(admin, "evalsha")).calls).toBeGreaterThanOrEqual(16);
  });

  test("calls of several kinds keep their order: a reset does not overtake an earlier decision", async () => {
    const limiter = await startWarm(fixedWindow({ limit: 1_000, window: "1h" }), "order");
    await limiter.reset("u");
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => limiter.consume(`user-${i}`)));
      await Promise.all([limiter.consume("u"), limiter.reset("u")]);
      expect((await limiter.peek("u")).remaining).toBe(999);
    }
  });

  test("calls shared by requests run in the async context of none of them", async () => {
    const requests = new AsyncLocalStorage<number>();
    const seen = new Set<number | undefined>();
    const client = new Proxy(redis, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name === "evalshaBuffer") seen.add(requests.getStore());
        return value.bind(target);
      },
    });
    const limits = gcra({ limit: 1_000_000, window: "1s" });
    const store = redisStore(client);
    const limiter = keep(createLimiter({ ...STORE_ALONE, name: "context", limits, store }));
    await Promise.all([limiter.consume("u"), limiter.consume("u")]);
    let request = 0;
    const askInTurn = async () => {
      for (let i = 0; i < 50; i += 1) {
        request += 1;
        await requests.run(request, () => limiter.consume("u"));
      }
    };
    await Promise.all(Array.from({ length: 16 }, askInTurn));
    // Nothing is under way, and two come together.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await Promise.all([1, 2].map((one) => requests.run(one, () => limiter.consume("u"))));
    expect([...seen]).toEqual([undefined]);
  });
});
