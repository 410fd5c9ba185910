import type { Limit } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const START = 1_800_000_000_000_000n;

const UNITS: Record<string, (limit: number) => Limit> = {
  gcra: (limit) => gcra({ limit, window: "1h" }),
  "gcra with a burst": (limit) => gcra({ limit, window: "1h", burst: 20 }),
  tokenBucket: (limit) => tokenBucket({ capacity: limit, refill: 10, every: "1h" }),
  fixedWindow: (limit) => fixedWindow({ limit, window: "1h" }),
  "fixedWindow by the clock": (limit) => fixedWindow({ limit, window: "1h", align: "clock" }),
  "fixedWindow by the calendar": (limit) => fixedWindow({ limit, window: "day" }),
  slidingWindow: (limit) => slidingWindow({ limit, window: "1h" }),
  "slidingWindow in buckets": (limit) => slidingWindow({ limit, window: "1h", buckets: 6 }),
  slidingLog: (limit) => slidingLog({ limit, window: "1h" }),
};

describeStores((tested) => {
  function open(limits: Limit | readonly Limit[], time = new MicroClock(START)) {
    const store = tested.open(time.clock);
    return createLimiter({ ...STORE_ALONE, name: "zero", limits, store });
  }

  describe.each(
    Object.entries({ ...UNITS, concurrency: (limit: number) => concurrency({ limit, ttl: "1m" }) }),
  )("a limit of 0: %s", (_, limitOf) => {
    test("a limit of 0 denies, with an infinite retryAfter", async () => {
      const limiter = open(limitOf(0));
      for (let i = 0; i < 3; i += 1) {
        const decision = await limiter.consume("u");
        expect(decision).toMatchObject({
          allowed: false,
          blocked: false,
          limit: 0,
          remaining: 0,
          retryAfterMs: Number.POSITIVE_INFINITY,
        });
      }
      await expect(limiter.wait("u")).rejects.toMatchObject({ code: "HEADGATE_COST_ABOVE_LIMIT" });
    });

    test("a limit of 0 charges none of the other limits", async () => {
      const other = gcra({ limit: 7, window: "2h", name: "other" });
      const limiter = open([limitOf(0), other]);
      expect((await limiter.consume("u")).allowed).toBe(false);
      const { limits } = await limiter.peek("u", { cost: 0 });
      expect(limits[1]).toMatchObject({ name: "other", remaining: 7 });
    });
  });

  describe.each(Object.entries(UNITS))("%s", (_, limitOf) => {
    test("a customer whose limit is set to 0 and back keeps the previous usage", async () => {
      const limiter = open(limitOf(10));
      await limiter.consume("u", { cost: 4 });
      for (let i = 0; i < 2; i += 1) {
        const suspended = await limiter.consume("u", { limits: limitOf(0) });
        expect(suspended).toMatchObject({ allowed: false, limit: 0, remaining: 0 });
        expect(suspended.limits[0]?.overdrawn).toBe(4);
      }
      const left = await limiter.peek("u", { cost: 0 });
      expect(left.limit - left.remaining).toBe(4);
      expect((await limiter.consume("u")).allowed).toBe(true);
    });

    test("a key that was used before the limit became 0 still expires", async () => {
      const time = new MicroClock(START);
      const limiter = open(limitOf(10), time);
      await limiter.consume("u", { cost: 3 });
      expect((await limiter.consume("u", { limits: limitOf(0) })).allowed).toBe(false);
      const { resetAfterMs } = await limiter.peek("u", { limits: limitOf(0), cost: 0 });
      expect(resetAfterMs).toBeGreaterThan(0);
      expect(resetAfterMs).toBeLessThanOrEqual(86_400_000);
    });

    test("a cost of 0 is allowed with nothing left, and charges nothing", async () => {
      const limiter = open(limitOf(10));
      await limiter.consume("u", { cost: 9 });
      for (let i = 0; i < 3; i += 1) {
        expect(await limiter.consume("u", { cost: 0 })).toMatchObject({ allowed: true, cost: 0 });
        expect(await limiter.wait("u", { cost: 0 })).toMatchObject({ allowed: true, cost: 0 });
        expect(await limiter.charge("u", { cost: 0 })).toEqual({
          charged: 0,
          overflow: 0,
          degraded: false,
        });
      }
      const before = await limiter.peek("u", { cost: 0 });
      await limiter.charge("u", { cost: 15 });
      const over = await limiter.consume("u", { cost: 0 });
      expect(over).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 });
      expect(over.limits[0]?.overdrawn).toBe(15 - before.remaining);
    });

    test("a cost of 0 is settled at its real cost, in either form", async () => {
      const limiter = open({ ...limitOf(10), name: "units" });
      const first = await limiter.consume("u", { cost: 0 });
      expect(await limiter.settle(first, 3)).toEqual({ charged: 3, overflow: 0, degraded: false });
      const second = await limiter.consume("u", { cost: { units: 0 } });
      expect(await limiter.settle(second, { units: 2 })).toMatchObject({ charged: { units: 2 } });
      // Each of them once.
      expect(await limiter.settle(first, 3)).toMatchObject({ charged: 0 });
      const looked = await limiter.peek("u", { cost: 0 });
      expect(looked.limit - looked.remaining).toBe(5);
      expect(await limiter.settle(looked, 3)).toMatchObject({ charged: 0 });
      expect(await limiter.refund(await limiter.consume("u", { cost: 0 }))).toBe(false);
    });
  });

  test("a cost of 0 takes no slot, and is denied while its subject is blocked", async () => {
    const limiter = open([
      concurrency({ limit: 1, ttl: "1m" }),
      fixedWindow({ limit: 5, window: "1h" }),
    ]);
    const held = await limiter.consume("u");
    expect(held.allowed).toBe(true);
    expect((await limiter.consume("u")).allowed).toBe(false);
    const free = await limiter.consume("u", { cost: 0 });
    expect(free.allowed).toBe(true);
    expect(await limiter.release(free)).toBe(false);
    await limiter.block("u", "1h");
    expect(await limiter.consume("u", { cost: 0 })).toMatchObject({
      allowed: false,
      blocked: true,
    });
    await limiter.release(held);
  });

  test("a cost of 0 sets no block", async () => {
    const limiter = open(fixedWindow({ limit: 1, window: "1h", block: "1h" }));
    await limiter.consume("u");
    for (let i = 0; i < 3; i += 1) {
      expect((await limiter.consume("u", { cost: 0 })).allowed).toBe(true);
    }
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, blocked: true });
  });
});
