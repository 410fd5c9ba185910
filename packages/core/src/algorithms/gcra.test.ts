import { describe, expect, test } from "vitest";
import type { GcraLimit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { compileGcra, gcra } from "./gcra.ts";
import { compileTokenBucket } from "./token-bucket.ts";

const SECOND = 1_000_000;

/** A limit on a clock of its own. */
function open(options: Omit<GcraLimit, "algorithm">) {
  const { algorithm, quota } = compileGcra(gcra(options));
  const state = algorithm.createState(quota);
  return {
    pass: (elapsed: number) => algorithm.advance(state, quota, elapsed, elapsed),
    report: () => algorithm.report(state, quota),
    /** Microseconds to wait; charged when there are none. */
    ask(cost = 1): number {
      const wait = algorithm.waitTime(state, quota, cost);
      if (wait === 0) algorithm.spend(state, quota, cost);
      return wait;
    },
  };
}

describe("gcra", () => {
  test("the first of 10 per second does not report 8 remaining", () => {
    const limit = open({ limit: 10, window: "1s" });
    expect(limit.ask()).toBe(0);
    expect(limit.report().remaining).toBe(9);
  });

  test("requests of one microsecond do not exceed the burst", () => {
    const limit = open({ limit: 10, window: "1s" });
    const waits = Array.from({ length: 11 }, () => limit.ask());
    expect(waits).toEqual([...new Array(10).fill(0), SECOND / 10]);
  });

  test("a burst of 1 spaces requests evenly", () => {
    const limit = open({ limit: 4, window: "1s", burst: 1 });
    const admitted: number[] = [];
    for (let micro = 0; micro <= SECOND; micro += SECOND / 20) {
      if (limit.ask() === 0) admitted.push(micro / SECOND);
      limit.pass(SECOND / 20);
    }
    expect(admitted).toEqual([0, 0.25, 0.5, 0.75, 1]);
  });

  test("a window admits the burst and its refill: up to twice the limit", () => {
    const limit = open({ limit: 100, window: "1m" });
    let admitted = 0;
    for (let ms = 0; ms < 60_000; ms += 100) {
      while (limit.ask() === 0) admitted += 1;
      limit.pass(100_000);
    }
    expect(admitted).toBe(199);
  });

  test("a wait of a third of a second is rounded up, and sufficient", () => {
    const limit = open({ limit: 3, window: "1s" });
    limit.ask(3);
    expect(limit.ask()).toBe(333_334);
    limit.pass(333_333);
    expect(limit.ask()).toBe(1);
    limit.pass(1);
    expect(limit.ask()).toBe(0);
    // The fraction was kept: three take one second, not three times 333,334 microseconds.
    limit.pass(SECOND - 333_334);
    expect(limit.ask(2)).toBe(0);
    expect(limit.report().remaining).toBe(0);
  });

  test("the burst may be larger than the limit", () => {
    const limit = open({ limit: 1, window: "1s", burst: 5 });
    expect(limit.ask(5)).toBe(0);
    expect(limit.ask(5)).toBe(5 * SECOND);
  });

  test("the description has the burst and its recovery time", () => {
    const compiled = compileLimit(gcra({ limit: 100, window: "1m", burst: 20 }));
    expect(compiled).toMatchObject({
      name: "100-per-1m",
      per: "default",
      limit: 20,
      windowMs: 12_000,
    });
  });

  test("gcra decides like a token bucket of the same numbers, with counters of its own", () => {
    const one = compileGcra(gcra({ limit: 100, window: "1m", burst: 20 }));
    const other = compileTokenBucket({
      algorithm: "tokenBucket",
      capacity: 20,
      refill: 100,
      every: "1m",
    });
    expect([one.parameters, one.quota]).toEqual([other.parameters, other.quota]);
    expect(one.shape.id).not.toBe(other.shape.id);
  });

  test("the canonical form depends on the burst, but not on how the window is written", () => {
    const canonical = (options: Omit<GcraLimit, "algorithm">) =>
      compileGcra(gcra(options)).canonical;
    expect(canonical({ limit: 100, window: "1m" })).toBe(canonical({ limit: 100, window: 60_000 }));
    expect(canonical({ limit: 100, window: "1m" })).toBe(
      canonical({ limit: 100, window: "60s", burst: 100, name: "told otherwise" }),
    );
    expect(canonical({ limit: 100, window: "1m" })).not.toBe(
      canonical({ limit: 100, window: "1m", burst: 99 }),
    );
  });
});
