import { fc, test } from "@fast-check/vitest";
import type { Decision, Limit, Limiter } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterEach, describe, expect } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { waitUntil } from "../support/wait-until.ts";
import { degradedDuring } from "./degraded-decisions.ts";
import { STORE_ALONE } from "./store-alone.ts";

const DAY = 86_400_000;
const START = 1_800_000_000_000;

const own = useOwnRedis();
afterEach(async () => {
  for (const limiter of started.splice(0)) await limiter.close();
});

/** The limiters of the test, whose names are free again when it is over. */
const started: Limiter[] = [];

/** Each algorithm, and the longest that a charge of it can be felt, in milliseconds. */
const subjects: [name: string, limit: Limit, longest: number][] = [
  ["gcra", gcra({ limit: 5, window: "10s" }), 10_000],
  ["tokenBucket", tokenBucket({ capacity: 5, refill: 3, every: "7s" }), 11_667],
  ["fixedWindow", fixedWindow({ limit: 5, window: "10s" }), 10_000],
  ["fixedWindow by the clock", fixedWindow({ limit: 5, window: "10s", align: "clock" }), 10_000],
  ["slidingWindow", slidingWindow({ limit: 5, window: "10s" }), 20_000],
  ["slidingWindow of buckets", slidingWindow({ limit: 5, window: "10s", buckets: 4 }), 12_500],
  ["slidingLog", slidingLog({ limit: 5, window: "10s" }), 10_000],
];

/** A limiter on a clock that the test turns. */
function start(limits: Limit | Limit[], prefix = "hg") {
  let now = START;
  const store = redisStore(own.client, { prefix, clock: () => now });
  const limiter: Limiter = createLimiter({ ...STORE_ALONE, name: "test", limits, store });
  started.push(limiter);
  return {
    limiter,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

/** A limiter on the server's own clock. */
function startOnServerClock(limits: Limit | Limit[], name = "test"): Limiter {
  const store = redisStore(own.client);
  const limiter: Limiter = createLimiter({ ...STORE_ALONE, name, limits, store });
  started.push(limiter);
  return limiter;
}

/** The counter's key and, where there is one, the log's, of a subject. */
async function keysOf(subject: string, prefix = "hg"): Promise<{ counter: string; log?: string }> {
  const keys = await own.client.keys(`${prefix}:{${subject}}:*`);
  const log = keys.find((key) => key.includes(":log"));
  const counter = keys.find((key) => key !== log);
  if (counter === undefined) throw new Error(`${subject} has no key`);
  return log === undefined ? { counter } : { counter, log };
}

async function ttlsOf(pattern: string): Promise<number[]> {
  const keys = await own.client.keys(pattern);
  return Promise.all(keys.map((key) => own.client.pttl(key)));
}

describe("every key expires", () => {
  const moves = fc.array(
    fc.record({
      subject: fc.constantFrom("a", "b", "c"),
      move: fc.constantFrom("consume", "consume", "consume", "peek", "refund", "reset"),
      cost: fc.integer({ min: 1, max: 4 }),
      rest: fc.nat(9_000),
    }),
    { minLength: 30, maxLength: 60 },
  );

  test.prop([moves], { numRuns: 15 })(
    "every key expires after any sequence of operations, on a custom clock",
    async (steps) => {
      await own.client.flushall();
      for (const [name, limit] of subjects) {
        const { limiter, pass } = start(limit, name.replaceAll(" ", "-"));
        const decisions: Decision[] = [];
        for (const { subject, move, cost, rest } of steps) {
          if (move === "consume") decisions.push(await limiter.consume(subject, { cost }));
          if (move === "peek") await limiter.peek(subject, { cost });
          if (move === "reset") await limiter.reset(subject);
          if (move === "refund") {
            const decision = decisions.pop();
            if (decision !== undefined) await limiter.refund(decision);
          }
          pass(rest);
        }
        await limiter.consume("a");
        await limiter.close();
      }
      const ttls = await ttlsOf("*");
      expect(ttls.length).toBeGreaterThan(subjects.length);
      expect(Math.min(...ttls)).toBeGreaterThan(DAY - 60_000);
      expect(Math.max(...ttls)).toBeLessThanOrEqual(DAY);
    },
  );

  test.each(subjects)(
    "a key expires on the server's clock once its limit has fully recovered: %s",
    async (_, limit) => {
      const limiter = startOnServerClock(limit);
      const before = performance.now();
      const { resetAfterMs } = await limiter.consume("u", { cost: 2 });
      const { counter, log } = await keysOf("u");
      for (const key of [counter, log]) {
        if (key === undefined) continue;
        const ttl = await own.client.pttl(key);
        const passed = performance.now() - before;
        // Rounded up, so that few different times are written: to at most twice what is needed and a second.
        expect(ttl).toBeLessThanOrEqual(2 * resetAfterMs + 1_001);
        expect(ttl).toBeGreaterThanOrEqual(Math.floor(resetAfterMs - passed - 1));
      }
    },
  );

  test("the key of three limits expires with the one that recovers last", async () => {
    const limiter = startOnServerClock([
      gcra({ limit: 5, window: "1s" }),
      slidingLog({ limit: 5, window: "1m" }),
      fixedWindow({ limit: 5, window: "1h" }),
    ]);
    await limiter.consume("u");
    const ttls = await ttlsOf("hg:{u}:*");
    expect(ttls).toHaveLength(2);
    for (const ttl of ttls) {
      expect(ttl).toBeGreaterThan(3_590_000);
      expect(ttl).toBeLessThanOrEqual(2 * 3_600_000 + 1_001);
    }
  });

  test("an expired counter starts again as unused", async () => {
    const limiters = subjects.map(([, limit], i) =>
      startOnServerClock({ ...limit, [windowOf(limit)]: 100 } as Limit, `of ${i}`),
    );
    for (const limiter of limiters) {
      // In one script, at one time: with a call each, the second one might come when the window is over.
      const [, second] = await Promise.all([1, 2].map(() => limiter.consume("u", { cost: 5 })));
      expect(second?.allowed).toBe(false);
    }
    await waitUntil(
      "all have expired",
      5_000,
      async () => (await own.client.dbsize()) === 0 || undefined,
    );
    for (const limiter of limiters) {
      expect(await limiter.consume("u", { cost: 5 })).toMatchObject({
        allowed: true,
        remaining: 0,
      });
    }
  });

  test.each(subjects)(
    "a key whose TTL was removed gets one again: %s",
    async (_, limit, longest) => {
      const { limiter, pass } = start(limit);
      await limiter.consume("u", { cost: 5 });
      for (const key of await own.client.keys("hg:{u}:*")) await own.client.persist(key);
      // A denial writes nothing, and is not for ever.
      expect((await limiter.consume("u")).allowed).toBe(false);
      expect(await ttlsOf("hg:{u}:*")).toContain(-1);
      pass(longest);
      expect((await limiter.consume("u")).allowed).toBe(true);
      const ttls = await ttlsOf("hg:{u}:*");
      expect(Math.min(...ttls)).toBeGreaterThan(0);
    },
  );
});

function windowOf(limit: Limit): "window" | "every" {
  return limit.algorithm === "tokenBucket" ? "every" : "window";
}

describe("a key that holds another type of value", () => {
  const types: Record<string, (key: string) => Promise<unknown>> = {
    list: (key) => own.client.rpush(key, "a", "b"),
    hash: (key) => own.client.hset(key, "field", "value"),
    set: (key) => own.client.sadd(key, "member"),
    "sorted set": (key) => own.client.zadd(key, 1, "member"),
    stream: (key) => own.client.xadd(key, "*", "field", "value"),
  };
  const limits = [
    slidingLog({ limit: 5, window: "10s" }),
    gcra({ limit: 5, window: "10s", per: "tenant" }),
  ];
  const cases = Object.keys(types).flatMap((type) => [
    [type, "counter"] as const,
    [type, "log"] as const,
  ]);

  test.each(cases)(
    "a %s in place of the %s degrades that decision, and is not overwritten",
    async (type, which) => {
      const { limiter } = start(limits);
      const first = await limiter.consume({ default: "u", tenant: "t" });
      const key = (await keysOf("u"))[which] as string;
      await own.client.del(key);
      await types[type]?.(key);
      const before = await own.client.dumpBuffer(key);

      const wrongType = {
        code: "HEADGATE_WRONG_TYPE",
        message: expect.not.stringContaining("hg:{u}:"),
        cause: { keys: expect.arrayContaining([expect.stringContaining("hg:{u}:")]) },
      };
      const warnings = watchWarnings();
      const subject = { default: "u", tenant: "t" };
      const degraded = await degradedDuring(async () => {
        await limiter.consume(subject);
        await limiter.peek(subject);
      });
      expect(degraded.map(({ reason }) => reason)).toMatchObject([wrongType, wrongType]);
      await new Promise(setImmediate);
      expect(warnings).toEqual([
        // Only the operator's log names the key.
        { code: wrongType.code, message: expect.stringContaining("hg:{u}:") },
      ]);
      expect(await own.client.dumpBuffer(key)).toEqual(before);

      // Neighbours are fine; the counter that was in order was not charged.
      const other = await limiter.consume({ default: "v", tenant: "t" });
      expect(other.limits.map(({ remaining }) => remaining)).toEqual([4, 3]);
      await expect(limiter.refund(first)).rejects.toMatchObject(wrongType);
      expect(await own.client.dumpBuffer(key)).toEqual(before);
    },
  );

  test("decisions work again once the value of a wrong type is deleted", async () => {
    const { limiter } = start(gcra({ limit: 5, window: "10s" }));
    await limiter.consume("u");
    const { counter } = await keysOf("u");
    await own.client.del(counter);
    await own.client.rpush(counter, "a");
    const [{ reason, decision } = {}] = await degradedDuring(() => limiter.consume("u"));
    expect(reason).toMatchObject({ code: "HEADGATE_WRONG_TYPE" });
    expect(decision).toMatchObject({ source: "local", degraded: true });
    await own.client.del(counter);
    expect(await limiter.consume("u")).toMatchObject({ source: "store", remaining: 4 });
  });
});

describe("a key with garbage in it", () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  /** What happens to the bytes of a key: other bytes of the same length, of another length, or one byte of them. */
  const damage = fc.oneof(
    bytes(256).map((random) => (stored: Buffer) => Buffer.from(repeat(random, stored.length))),
    fc.uint8Array({ maxLength: 100 }).map((random) => () => Buffer.from(random)),
    fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => (stored: Buffer) => {
      const changed = Buffer.from(stored);
      const i = at % changed.length;
      changed[i] = (changed[i] ?? 0) ^ bits;
      return changed;
    }),
    fc
      .constantFrom(0, 0xff, 0x7f)
      .map((byte) => (stored: Buffer) => Buffer.alloc(stored.length, byte)),
    fc.nat().map((at) => (stored: Buffer) => stored.subarray(0, at % stored.length)),
    fc.constant((stored: Buffer) => Buffer.concat([stored, stored])),
  );

  function repeat(random: Uint8Array, length: number): Uint8Array {
    return Uint8Array.from({ length }, (_, i) => random[i % random.length] ?? 0);
  }

  let clients = 0;

  test.each(subjects)(
    "%s: with random bytes in a key, no denial lasts longer than the largest possible usage takes to recover",
    async (_, limit, felt) => {
      const costs = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(4_000)), {
        minLength: 1,
        maxLength: 5,
      });
      const { limiter, pass } = start(limit);
      // A debt may be above the limit, which may have been higher; only its width bounds one that is garbage.
      const isDebt = limit.algorithm === "gcra" || limit.algorithm === "tokenBucket";
      const longest = isDebt ? (felt * 2 ** 32) / 5 : felt;
      await fc.assert(
        fc.asyncProperty(
          damage,
          costs,
          fc.boolean(),
          fc.nat(3_000),
          async (spoil, calls, isLog, rest) => {
            clients += 1;
            const subject = `client-${clients}`;
            for (const [cost, ms] of calls) {
              await limiter.consume(subject, { cost });
              pass(ms);
            }
            const { counter, log } = await keysOf(subject);
            const key = isLog && log !== undefined ? log : counter;
            const stored = await own.client.getBuffer(key);
            await own.client.set(key, spoil(stored ?? Buffer.alloc(0)));
            pass(rest);

            const first = await limiter.consume(subject, { cost: 2 });
            expect(first.retryAfterMs).toBeLessThanOrEqual(longest);
            expect(first.retryAfterMs).toBeGreaterThanOrEqual(first.allowed ? 0 : 1);
            expect(first.resetAfterMs).toBeLessThanOrEqual(longest);
            expect(first.resetAfterMs).toBeGreaterThan(0);
            expect(first.remaining).toBeGreaterThanOrEqual(0);
            expect(first.remaining).toBeLessThanOrEqual(5);
            // A debt that would take a lifetime is forgiven by hand.
            if (first.resetAfterMs > felt) await limiter.reset(subject);
            pass(felt);
            expect(await limiter.consume(subject, { cost: 5 })).toMatchObject({
              allowed: true,
              remaining: 0,
            });
            const ttls = await ttlsOf(`hg:{${subject}}:*`);
            expect(Math.min(...ttls)).toBeGreaterThan(0);
            expect(Math.max(...ttls)).toBeLessThanOrEqual(DAY);
          },
        ),
        { numRuns: 250 },
      );
    },
  );

  test("foreign text in a key counts as no usage, and the first charge overwrites it", async () => {
    const { limiter } = start(gcra({ limit: 5, window: "10s" }));
    await limiter.consume("u", { cost: 5 });
    const { counter } = await keysOf("u");
    for (const text of ["", "0", "-1", "not a state at all", "\0".repeat(26)]) {
      await own.client.set(counter, text);
      expect((await limiter.consume("u")).remaining).toBe(4);
      expect(await own.client.strlen(counter)).toBe(26);
    }
  });

  test("a stored time far in the future does not block", async () => {
    for (const [name, limit, longest] of subjects) {
      const { limiter, pass } = start(limit, name.replaceAll(" ", "-"));
      pass(3_650 * DAY);
      await limiter.consume("u", { cost: 5 });
      pass(-3_650 * DAY);
      const denied = await limiter.consume("u");
      expect(denied.allowed).toBe(false);
      expect(denied.retryAfterMs).toBeLessThanOrEqual(longest);
      pass(denied.retryAfterMs);
      expect((await limiter.consume("u")).allowed).toBe(true);
    }
  });
});

describe("a log and its counter", () => {
  const limit = slidingLog({ limit: 5, window: "10s" });

  test("without its log, a counter starts from zero: exactly the limit is admitted again", async () => {
    const { limiter } = start(limit);
    for (let i = 0; i < 5; i += 1) await limiter.consume("u");
    await own.client.del((await keysOf("u")).log as string);
    const decisions: Decision[] = [];
    for (let i = 0; i < 9; i += 1) decisions.push(await limiter.consume("u"));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
  });

  test("without its counter, a log starts from zero: its entries are not read", async () => {
    const { limiter, pass } = start(limit);
    for (let i = 0; i < 5; i += 1) await limiter.consume("u");
    await own.client.del((await keysOf("u")).counter);
    pass(1_000);
    const decisions: Decision[] = [];
    for (let i = 0; i < 9; i += 1) decisions.push(await limiter.consume("u"));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(decisions.at(-1)?.retryAfterMs).toBe(10_000);
  });

  test("a reset deletes a log together with its counter", async () => {
    const { limiter } = start([limit, gcra({ limit: 5, window: "1m" })]);
    await limiter.consume("u");
    await limiter.consume("v");
    expect(await own.client.keys("hg:{u}:*")).toHaveLength(2);
    expect(await limiter.reset("u")).toBe(true);
    expect(await own.client.keys("hg:{u}:*")).toEqual([]);
    expect(await own.client.keys("hg:{v}:*")).toHaveLength(2);
    expect(await limiter.reset("u")).toBe(false);
  });

  test("a log and its counter are in one hash slot, whatever the subject", async () => {
    const { limiter } = start([limit, gcra({ limit: 5, window: "1m" })]);
    for (const subject of ["u", "{", "}", "{}", "a{b}c", ":", "#", "%", "💧", "x".repeat(5_000)]) {
      await own.client.flushall();
      await limiter.consume(subject);
      const keys = await own.client.keys("*");
      expect(keys).toHaveLength(2);
      for (const key of keys) {
        expect(key).toMatch(/^hg:\{[^{}]+\}:test:default:[\w-]{8}(:log\d)?$/);
        expect(key.length).toBeLessThan(110);
      }
    }
  });
});

test("a long subject is not readable in its key", async () => {
  const { limiter } = start(gcra({ limit: 5, window: "1m" }));
  const secret = `Bearer ${"s3cr3t".repeat(2_000)}`;
  await limiter.consume(secret);
  const [key = ""] = await own.client.keys("*");
  expect(key).not.toContain("s3cr3t");
  expect(key.length).toBeLessThan(100);
});
