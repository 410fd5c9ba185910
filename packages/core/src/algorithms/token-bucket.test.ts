import { describe, expect, test } from "vitest";
import type { TokenBucketLimit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { MAX_MICROS, NEVER } from "./exact-arithmetic.ts";
import { compileTokenBucket, tokenBucket } from "./token-bucket.ts";

const SECOND = 1_000_000;

type Debt = Parameters<ReturnType<typeof compileTokenBucket>["algorithm"]["report"]>[0];

/** A bucket on a clock of its own; with the debt of another one, that bucket by other numbers. */
function open(options: Omit<TokenBucketLimit, "algorithm">, earlier?: { readonly debt: Debt }) {
  const { algorithm, quota } = compileTokenBucket({ algorithm: "tokenBucket", ...options });
  const debt = earlier?.debt ?? algorithm.createState(quota);
  return {
    debt,
    pass: (elapsed: number) => algorithm.advance(debt, quota, elapsed, elapsed),
    report: () => algorithm.report(debt, quota),
    refund: (cost: number, age: number) => algorithm.refund(debt, quota, cost, age),
    /** Microseconds to wait; charged when there are none. */
    ask(cost = 1): number {
      const wait = algorithm.waitTime(debt, quota, cost);
      if (wait === 0) algorithm.spend(debt, quota, cost);
      return wait;
    },
  };
}

describe("tokenBucket", () => {
  test("a bucket grants its capacity at once, then each refilled token", () => {
    const bucket = open({ capacity: 3, refill: 2, every: "1s" });
    expect([bucket.ask(), bucket.ask(), bucket.ask()]).toEqual([0, 0, 0]);
    expect(bucket.ask()).toBe(SECOND / 2);
    bucket.pass(SECOND / 2 - 1);
    expect(bucket.ask()).toBe(1);
    bucket.pass(1);
    expect(bucket.ask()).toBe(0);
    expect(bucket.ask()).toBe(SECOND / 2);
  });

  test("a bucket refills up to its capacity", () => {
    const bucket = open({ capacity: 5, refill: 1, every: 10 });
    expect(bucket.ask(5)).toBe(0);
    bucket.pass(365 * 86_400 * SECOND);
    expect(bucket.report()).toEqual({ remaining: 5, resetAfter: 0, refillAfter: 0 });
    expect(bucket.ask(6)).toBe(NEVER);
  });

  test("the report has the wait for a larger cost and the time until the bucket is full", () => {
    const bucket = open({ capacity: 10, refill: 1, every: "1s" });
    bucket.ask(8);
    expect(bucket.ask(5)).toBe(3 * SECOND);
    expect(bucket.report()).toEqual({ remaining: 2, resetAfter: 8 * SECOND, refillAfter: SECOND });
    bucket.pass(SECOND / 4);
    expect(bucket.report()).toEqual({
      remaining: 2,
      resetAfter: 7.75 * SECOND,
      refillAfter: 0.75 * SECOND,
    });
  });

  test("fractions of tokens are not lost: 300,000 per second are 300,000", () => {
    const bucket = open({ capacity: 1, refill: 300_000, every: "1s" });
    let admitted = 0;
    for (let micro = 0; micro < SECOND; micro += 1) {
      if (bucket.ask() === 0) admitted += 1;
      bucket.pass(1);
    }
    expect(admitted).toBe(250_000); // every fourth microsecond is the first at which a token of 3.33 µs is there
    const large = open({ capacity: 300_000, refill: 300_000, every: "1s" });
    large.ask(300_000);
    large.pass(Math.floor(SECOND / 3));
    expect(large.report().remaining).toBe(99_999);
    large.pass(1);
    expect(large.report().remaining).toBe(100_000);
  });

  test("a daily quota of a million refills token by token, each at its microsecond", () => {
    const bucket = open({ capacity: 1_000_000, refill: 999_983, every: "1d" });
    bucket.ask(1_000_000);
    const due = (86_400 * SECOND) / 999_983;
    for (const token of [1, 2, 3, 77_777, 999_982]) {
      expect(bucket.ask(token)).toBe(Math.ceil(token * due));
    }
    expect(bucket.ask(999_983)).toBe(86_400 * SECOND);
  });

  test("the largest bucket with the slowest refill reports the longest wait, not a wrong one", () => {
    const bucket = open({ capacity: 1_000_000_000, refill: 1, every: "366d" });
    expect(bucket.ask(1_000_000_000)).toBe(0);
    expect(bucket.ask()).toBe(366 * 86_400 * SECOND);
    expect(bucket.report().resetAfter).toBe(MAX_MICROS);
    bucket.pass(366 * 86_400 * SECOND);
    expect(bucket.ask()).toBe(0);
  });

  test("a refund never exceeds the capacity", () => {
    const bucket = open({ capacity: 5, refill: 1, every: "1s" });
    bucket.ask(5);
    bucket.pass(3 * SECOND);
    // Three of five have come back by themselves; only two are left to give.
    expect(bucket.refund(5, 3 * SECOND)).toBe(true);
    expect(bucket.report().remaining).toBe(5);
    expect(bucket.refund(5, 5 * SECOND)).toBe(false);
    expect(bucket.report()).toEqual({ remaining: 5, resetAfter: 0, refillAfter: 0 });
  });

  test("a debt continues under changed limits", () => {
    const large = open({ capacity: 500, refill: 10, every: "1s" });
    large.ask(500);
    const small = open({ capacity: 10, refill: 1, every: "1s" }, large);
    expect(small.report()).toEqual({
      remaining: -490,
      resetAfter: 500 * SECOND,
      refillAfter: 491 * SECOND,
    });
    expect(small.ask()).toBe(491 * SECOND);
    small.pass(491 * SECOND - 1);
    expect(small.ask()).toBe(1);
    small.pass(1);
    expect(small.ask()).toBe(0);
  });

  test("units that drained at another refill are not refunded", () => {
    const slow = open({ capacity: 10, refill: 1, every: "1s" });
    slow.ask(10);
    const fast = open({ capacity: 10, refill: 5, every: "1s" }, slow);
    // Only looked at by the faster numbers, which has drained five.
    fast.pass(SECOND);
    expect(slow.refund(10, SECOND)).toBe(true);
    expect(slow.report().remaining).toBe(10);
  });

  test("a refund of an earlier charge does not refund later ones", () => {
    const slow = open({ capacity: 10, refill: 1, every: "1s" });
    slow.ask(10);
    const fast = open({ capacity: 10, refill: 100, every: "1s" }, slow);
    fast.pass(SECOND / 10);
    fast.ask(1);
    slow.pass(2 * SECOND);
    slow.ask(5);
    expect(slow.refund(10, 2.1 * SECOND)).toBe(false);
    expect(slow.report().remaining).toBe(5);
  });

  test("a denial charges nothing", () => {
    const bucket = open({ capacity: 2, refill: 1, every: "1s" });
    bucket.ask(2);
    const before = { ...bucket.debt };
    for (let i = 0; i < 50; i += 1) bucket.ask();
    expect(bucket.debt).toEqual(before);
  });

  test("the limit is named by its refill and interval", () => {
    const { limit, windowMs, name, per } = compileLimit(
      tokenBucket({ capacity: 20, refill: 100, every: "1m" }),
    );
    expect({ limit, windowMs, name, per }).toEqual({
      limit: 20,
      windowMs: 12_000,
      name: "100-per-1m",
      per: "default",
    });
  });
});
