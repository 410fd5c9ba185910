import { describe, expect, test } from "vitest";
import type { SlidingLogLimit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { NEVER } from "./exact-arithmetic.ts";
import type { LogEntries } from "./sliding-log.ts";
import { compileSlidingLog, createLogEntries, slidingLog } from "./sliding-log.ts";

const SECOND = 1_000_000;

/** A log on a clock of its own. */
function open(options: Omit<SlidingLogLimit, "algorithm">) {
  const { algorithm, quota } = compileSlidingLog(slidingLog(options));
  const state = algorithm.createState(quota);
  return {
    entries: state.entries,
    pass: (elapsed: number) => algorithm.advance(state, quota, elapsed, elapsed),
    report: () => algorithm.report(state, quota),
    refund: (cost: number, age: number) => algorithm.refund(state, quota, cost, age),
    /** Microseconds to wait; charged when there are none. */
    ask(cost = 1): number {
      const wait = algorithm.waitTime(state, quota, cost);
      if (wait === 0) algorithm.spend(state, quota, cost);
      return wait;
    },
  };
}

/** A log of `count` entries, one a microsecond, that counts how often it is read. */
function openCounted(count: number, window: number) {
  const times = Array.from({ length: count }, (_, i) => i);
  const entries = createLogEntries(
    times,
    times.map((i) => i + 1),
  );
  let reads = 0;
  const counted: LogEntries = {
    ...entries,
    time: (i) => {
      reads += 1;
      return entries.time(i);
    },
    total: (i) => {
      reads += 1;
      return entries.total(i);
    },
  };
  const { algorithm, quota } = compileSlidingLog(slidingLog({ limit: count, window }));
  const state = { entries: counted, base: 0, total: count, clock: count - 1 };
  return { algorithm, quota, state, readCount: () => reads };
}

describe("slidingLog", () => {
  test("a partial refund removes units charged at the same time", () => {
    const log = open({ limit: 10, window: "4s" });
    log.ask(3);
    log.ask(5);
    expect(log.refund(2, 0)).toBe(true);
    expect(log.report().remaining).toBe(4);
    expect([log.entries.count(), log.entries.total(1), log.entries.total(2)]).toEqual([2, 3, 6]);
    log.pass(SECOND);
    log.ask(1);
    expect(log.refund(5, SECOND)).toBe(true);
    expect(log.report().remaining).toBe(8);
    expect([log.entries.count(), log.entries.total(1), log.entries.total(2)]).toEqual([2, 1, 2]);
    expect(log.refund(2, SECOND)).toBe(false);
    expect(log.refund(1, SECOND)).toBe(true);
    expect(log.refund(1, SECOND)).toBe(false);
    expect(log.report()).toMatchObject({ remaining: 9, resetAfter: 4 * SECOND });
  });

  test("every window admits the limit, and an entry expires when it is exactly a window old", () => {
    const log = open({ limit: 2, window: "4s" });
    expect(log.ask()).toBe(0);
    log.pass(SECOND);
    expect(log.ask()).toBe(0);
    expect(log.ask()).toBe(3 * SECOND);
    log.pass(3 * SECOND - 1);
    expect(log.ask()).toBe(1);
    log.pass(1);
    expect(log.ask()).toBe(0);
    expect(log.ask()).toBe(SECOND);
  });

  test("two per four seconds admit six requests in ten seconds, however many arrive", () => {
    const log = open({ limit: 2, window: "4s" });
    let admitted = 0;
    for (let ms = 0; ms < 10_000; ms += 1) {
      if (log.ask() === 0) admitted += 1;
      log.pass(1_000);
    }
    expect(admitted).toBe(6);
  });

  test("the wait lasts until enough of the oldest entries expire for the cost", () => {
    const log = open({ limit: 10, window: "10s" });
    for (const cost of [1, 4, 2, 3]) {
      log.ask(cost);
      log.pass(SECOND);
    }
    expect(log.ask(1)).toBe(6 * SECOND);
    expect(log.ask(2)).toBe(7 * SECOND);
    expect(log.ask(5)).toBe(7 * SECOND);
    expect(log.ask(6)).toBe(8 * SECOND);
    expect(log.ask(10)).toBe(9 * SECOND);
    expect(log.ask(11)).toBe(NEVER);
    expect(log.report()).toEqual({ remaining: 0, resetAfter: 9 * SECOND, refillAfter: 6 * SECOND });
  });

  test("a charge is one entry whatever its cost, and a denial is none", () => {
    const log = open({ limit: 1_000_000, window: "1d" });
    log.ask(600_000);
    log.ask(400_000);
    for (let i = 0; i < 50; i += 1) log.ask();
    expect(log.entries.count()).toBe(2);
  });

  test("two requests in one microsecond are two entries", () => {
    const log = open({ limit: 3, window: "1s" });
    expect([log.ask(), log.ask(), log.ask(), log.ask()]).toEqual([0, 0, 0, SECOND]);
  });

  test("a refund removes the entry of its time and cost, even from the middle", () => {
    const log = open({ limit: 10, window: "10s" });
    log.ask(5);
    log.pass(SECOND);
    log.ask(2);
    log.pass(SECOND);
    log.ask(3);
    expect(log.refund(2, SECOND)).toBe(true);
    expect(log.report()).toEqual({
      remaining: 2,
      resetAfter: 10 * SECOND,
      refillAfter: 8 * SECOND,
    });
    expect(log.refund(2, SECOND)).toBe(false);
    expect(log.refund(3, SECOND)).toBe(false);
    expect(log.refund(5, 2 * SECOND)).toBe(true);
    expect(log.refund(3, 0)).toBe(true);
    expect(log.report()).toEqual({ remaining: 10, resetAfter: 0, refillAfter: 0 });
  });

  test("a refund of an expired entry refunds nothing", () => {
    const log = open({ limit: 2, window: "1s" });
    log.ask(2);
    log.pass(SECOND);
    expect(log.refund(2, SECOND)).toBe(false);
    expect(log.report().remaining).toBe(2);
  });

  test("a refund rewrites at most 1,000 newer entries", () => {
    const log = open({ limit: 2_000, window: "1h" });
    for (let i = 0; i < 1_002; i += 1) {
      log.ask();
      log.pass(1);
    }
    // The second entry has 1,000 newer ones, the first 1,001.
    expect(log.refund(1, 1_002)).toBe(false);
    expect(log.report().remaining).toBe(998);
    expect(log.refund(1, 1_001)).toBe(true);
    expect(log.report().remaining).toBe(999);
  });

  test("expiring half of 100,000 entries reads O(log n) of them", () => {
    const { algorithm, quota, state, readCount } = openCounted(100_000, 100);
    algorithm.advance(state, quota, 50_000, 0);
    expect(state.entries.count()).toBe(50_000);
    expect(readCount()).toBeLessThanOrEqual(2 * 17 + 1);
  });

  test("the wait of a large cost reads O(log n) entries", () => {
    const { algorithm, quota, state, readCount } = openCounted(100_000, 100);
    // The log is full; the newest of the 75,000 that must leave is 25,000 µs old, of a window of 100,000.
    expect(algorithm.waitTime(state, quota, 75_000)).toBe(75_000);
    expect(readCount()).toBeLessThanOrEqual(2 * 17 + 1);
  });

  test("the limit is named by its units and window", () => {
    expect(compileLimit(slidingLog({ limit: 5, window: "15m" }))).toMatchObject({
      name: "5-per-15m",
      per: "default",
      limit: 5,
      windowMs: 900_000,
    });
  });
});
