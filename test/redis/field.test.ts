import { AsyncLocalStorage } from "node:async_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock, Decision, Limit, Limiter, Store } from "@headgate/core";
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
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { STORE_ALONE } from "./store-alone.ts";

/*
 * What other limiters get wrong must not happen here: one test for each of their mistakes, named after it.
 */

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const START = 1_800_000_000_000;
const DAY = 86_400_000;

let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject("redisSocket"));
});
afterAll(() => redis.quit());

let opened = 0;
function nextPrefix(): string {
  opened += 1;
  return `field-${opened}`;
}

const stores: [name: string, open: (clock?: Clock) => Store][] = [
  ["in memory", (clock) => memoryStore({ clock })],
  ["on Redis", (clock) => redisStore(redis, { prefix: nextPrefix(), clock })],
];

const algorithms: Limit[] = [
  gcra({ limit: 5, window: "1s" }),
  tokenBucket({ capacity: 5, refill: 5, every: "1s" }),
  fixedWindow({ limit: 5, window: "1s" }),
  slidingWindow({ limit: 5, window: "1s" }),
  slidingWindow({ limit: 5, window: "1s", buckets: 10 }),
  slidingLog({ limit: 5, window: "1s" }),
];

describe.each(stores)("%s", (_, open) => {
  /** A limiter on a clock that the test turns. */
  function start(limits: Limit | Limit[]) {
    let now = START;
    const store = open(() => now);
    const limiter: Limiter = createLimiter({ ...STORE_ALONE, name: "field", limits, store });
    return {
      limiter,
      store,
      pass(ms: number) {
        now += ms;
      },
    };
  }

  test("twice the limit is not admitted around a window's boundary, if the algorithm promises that", async () => {
    for (const limits of [
      slidingLog({ limit: 100, window: "1s" }),
      slidingWindow({ limit: 100, window: "1s", buckets: 10 }),
    ]) {
      const { limiter, pass } = start(limits);
      let admitted = 0;
      const burst = async () => {
        for (let i = 0; i < 100; i += 1) if ((await limiter.consume("u")).allowed) admitted += 1;
      };
      pass(941);
      await burst();
      pass(117);
      await burst();
      expect(admitted).toBe(100);
      await limiter.close();
    }
  });

  test.each(algorithms)(
    "denied requests are not charged, so that a client that keeps trying is admitted again ($algorithm)",
    async (limit) => {
      const { limiter, pass } = start(limit);
      await limiter.consume("u", { cost: 5 });
      const { retryAfterMs } = await limiter.consume("u");
      for (let waited = 0; waited < retryAfterMs; waited += 10) {
        expect((await limiter.consume("u")).allowed).toBe(false);
        pass(Math.min(10, retryAfterMs - waited));
      }
      expect((await limiter.consume("u")).allowed).toBe(true);
    },
  );

  test.each(algorithms)("a refund never exceeds the capacity ($algorithm)", async (limit) => {
    const { limiter, pass } = start(limit);
    const decisions: Decision[] = [];
    for (let i = 0; i < 5; i += 1) decisions.push(await limiter.consume("u"));
    pass(700);
    for (const decision of decisions) {
      await limiter.refund(decision);
      await limiter.refund(decision);
    }
    const admitted = async () => {
      const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("u")));
      return decisions.filter(({ allowed }) => allowed).length;
    };
    expect(await admitted()).toBeLessThanOrEqual(5);
    pass(2_000);
    expect(await admitted()).toBe(5);
  });

  test.each(algorithms)(
    "a refund does not change a counter that started again ($algorithm)",
    async (limit) => {
      const { limiter } = start(limit);
      const decision = await limiter.consume("u", { cost: 5 });
      await limiter.reset("u");
      await limiter.consume("u", { cost: 5 });
      expect(await limiter.refund(decision)).toBe(false);
      expect((await limiter.consume("u")).allowed).toBe(false);
    },
  );

  test("two limiters with equal options and different names share no counter", async () => {
    const store = open(() => START);
    const limits = fixedWindow({ limit: 5, window: "1m" });
    const search = createLimiter({ ...STORE_ALONE, name: "search", limits, store });
    const login = createLimiter({ ...STORE_ALONE, name: "login", limits, store });
    await search.consume("u", { cost: 5 });
    expect((await login.consume("u")).remaining).toBe(4);
  });

  test('a limiter on a shared store needs a name: it is never called "undefined"', () => {
    expect(() =>
      createLimiter({ limits: fixedWindow({ limit: 5, window: "1m" }), store: open() }),
    ).toThrow(expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }));
  });

  test.each([Number.NaN, undefined, -1, 0.5])(
    "a limit of %s is rejected: it means neither unlimited nor 1,000",
    (limit) => {
      expect(() =>
        createLimiter({
          name: "field",
          limits: gcra({ limit: limit as number, window: "1m" }),
          store: open(),
        }),
      ).toThrow(expect.objectContaining({ code: "HEADGATE_INVALID_LIMIT" }));
    },
  );

  test.each(algorithms)(
    "a duration below a second works, and is not rounded down to 0 ($algorithm)",
    async (limit) => {
      const half =
        limit.algorithm === "tokenBucket" ? { ...limit, every: 500 } : { ...limit, window: 500 };
      const { limiter, pass } = start(half as Limit);
      await limiter.consume("u", { cost: 5 });
      const { retryAfterMs } = await limiter.consume("u", { cost: 5 });
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(1_000);
      pass(retryAfterMs);
      expect((await limiter.consume("u", { cost: 5 })).allowed).toBe(true);
    },
  );

  test("a window of 30 days applies, and sets no timer", async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const { limiter, pass } = start(fixedWindow({ limit: 1, window: "30d" }));
    expect((await limiter.consume("u")).allowed).toBe(true);
    pass(30 * DAY - 1);
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, retryAfterMs: 1 });
    pass(1);
    expect((await limiter.consume("u")).allowed).toBe(true);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  test("a subject does not keep its request in memory", async () => {
    const { limiter } = start(slidingLog({ limit: 5, window: "30d" }));
    const context = new AsyncLocalStorage<object>();
    const requests: WeakRef<object>[] = [];
    for (let i = 0; i < 50; i += 1) {
      const request = { body: new Uint8Array(1_000) };
      requests.push(new WeakRef(request));
      await context.run(request, () => limiter.consume(`user ${i}`));
    }
    await new Promise(setImmediate);
    collectGarbage();
    await new Promise(setImmediate);
    collectGarbage();
    // The last one may still stand in a register or a client's buffer.
    expect(requests.filter((request) => request.deref() !== undefined).length).toBeLessThan(5);
    expect((await limiter.peek("user 0")).remaining).toBe(3);
  });

  test.each(["constructor", "__proto__", "toString"])(
    "the subject %s works like any other",
    async (key) => {
      const { limiter } = start(gcra({ limit: 2, window: "1m" }));
      expect((await limiter.consume(key)).remaining).toBe(1);
      expect(await limiter.wait(key)).toMatchObject({ remaining: 0 });
      expect((await limiter.consume(key)).allowed).toBe(false);
      expect(await limiter.reset(key)).toBe(true);
    },
  );

  test("if one of three limits denies, the others are not charged", async () => {
    const { limiter } = start([
      fixedWindow({ limit: 1, window: "1s" }),
      fixedWindow({ limit: 100, window: "1h" }),
      slidingLog({ limit: 1_000, window: "1d" }),
    ]);
    let last = await limiter.consume("u");
    for (let i = 0; i < 49; i += 1) last = await limiter.consume("u");
    expect(last.allowed).toBe(false);
    expect(last.limits.map(({ remaining }) => remaining)).toEqual([0, 99, 999]);
  });

  test("with several limits, a decision has the numbers of the tightest", async () => {
    const { limiter } = start([
      gcra({ limit: 1_000, window: "1h" }),
      gcra({ limit: 10, window: "1s" }),
    ]);
    expect(await limiter.consume("u")).toMatchObject({ limit: 10, remaining: 9 });
  });

  test("the first of 10 requests per second leaves 9", async () => {
    const { limiter } = start(gcra({ limit: 10, window: "1s" }));
    expect((await limiter.consume("u")).remaining).toBe(9);
  });

  test("a burst within one microsecond admits exactly 10 of 10", async () => {
    const { limiter } = start(gcra({ limit: 10, window: "1s" }));
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("u")));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  test("requests within one microsecond count separately", async () => {
    const { limiter } = start(slidingLog({ limit: 5, window: "1s" }));
    const decisions = await Promise.all(Array.from({ length: 9 }, () => limiter.consume("u")));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
  });

  test.each(algorithms)(
    "a stored time far in the future does not block until then ($algorithm)",
    async (limit) => {
      const { limiter, pass } = start(limit);
      pass(1_000 * DAY);
      await limiter.consume("u", { cost: 5 });
      pass(-1_000 * DAY);
      const { retryAfterMs } = await limiter.consume("u", { cost: 5 });
      expect(retryAfterMs).toBeLessThanOrEqual(2_000);
      pass(retryAfterMs);
      expect((await limiter.consume("u", { cost: 5 })).allowed).toBe(true);
    },
  );

  test('a reset has no wildcard: "*" is one subject', async () => {
    const { limiter } = start(gcra({ limit: 2, window: "1m" }));
    await limiter.consume("u");
    expect(await limiter.reset("*")).toBe(false);
    expect((await limiter.peek("u")).remaining).toBe(0);
  });

  test("an empty subject is rejected, and is no shared counter", async () => {
    const { limiter } = start(gcra({ limit: 2, window: "1m" }));
    for (const key of ["", undefined]) {
      await expect(limiter.consume(key as string)).rejects.toMatchObject({
        code: "HEADGATE_EMPTY_KEY",
      });
    }
  });
});

describe("on Redis", () => {
  test("a refund after the window leaves no key in Redis", async () => {
    const server = await startRedis();
    const own = new Redis(server.socket);
    const spent = [];
    for (const limits of algorithms) {
      const short =
        limits.algorithm === "tokenBucket" ? { ...limits, every: 20 } : { ...limits, window: 20 };
      const limiter = createLimiter({
        name: limits.algorithm + JSON.stringify(limits).length,
        limits: short as Limit,
        store: redisStore(own),
        ...STORE_ALONE,
      });
      spent.push({ limiter, decision: await limiter.consume("u", { cost: 2 }) });
    }
    await waitUntil("all have expired", 5_000, async () => (await own.dbsize()) === 0 || undefined);
    for (const { limiter, decision } of spent) {
      expect(await limiter.refund(decision)).toBe(false);
    }
    expect(await own.dbsize()).toBe(0);
    await own.quit();
    await server.stop();
  });

  test("a server that restarts without the script, or answers late, is used again", async () => {
    const first = await startRedis({ port: true });
    const own = new Redis(first.port, { retryStrategy: () => 20 });
    own.on("error", () => {});
    const limiter = createLimiter({
      name: "late",
      limits: gcra({ limit: 5, window: "1h" }),
      store: redisStore(own),
      ...STORE_ALONE,
    });
    await limiter.consume("u", { cost: 2 });
    await first.stop();
    const second = await startRedis({ port: first.port });
    expect(await limiter.consume("u")).toMatchObject({ source: "store", remaining: 4 });
    expect(await limiter.consume("u")).toMatchObject({ source: "store", remaining: 3 });
    await own.quit();
    await second.stop();
  });

  test("a long subject becomes a short key in Redis, in which it is not readable", async () => {
    const prefix = nextPrefix();
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "secrets",
      limits: gcra({ limit: 5, window: "1h" }),
      store: redisStore(redis, { prefix }),
    });
    for (let i = 0; i < 20; i += 1) await limiter.consume(`token-${i}-${"s3cr3t".repeat(1_500)}`);
    const keys = await redis.keys(`${prefix}:*`);
    expect(keys).toHaveLength(20);
    for (const key of keys) {
      expect(key.length).toBeLessThan(100);
      expect(key).not.toContain("s3cr3t");
    }
  });

  test("no key lives for ever, or for 285,000 years", async () => {
    const prefix = nextPrefix();
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "longest",
      limits: tokenBucket({ capacity: 1_000_000_000, refill: 1, every: "366d" }),
      store: redisStore(redis, { prefix }),
    });
    await limiter.consume("u", { cost: 1_000_000_000 });
    const [key = ""] = await redis.keys(`${prefix}:*`);
    const ttl = await redis.pttl(key);
    // A debt of 10^9 at one a year drains in 10^9 years; the longest that is reported is 285.
    expect(ttl).toBeGreaterThan(366 * DAY);
    expect(ttl).toBeLessThanOrEqual(286 * 366 * DAY);
  });
});
