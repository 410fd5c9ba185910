import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { SlidingWindowLimit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { NEVER } from "./exact-arithmetic.ts";
import { compileSlidingWindow, slidingWindow } from "./sliding-window.ts";

const SECOND = 1_000_000;

/** A multiple of every window below. */
const EPOCH = 1_800_000_000 * SECOND;

type State = Parameters<ReturnType<typeof compileSlidingWindow>["algorithm"]["report"]>[0];

/** A window on a clock of its own that starts at `now` microseconds; with the state of another one, that window by other numbers. */
function open(
  options: Omit<SlidingWindowLimit, "algorithm">,
  now = EPOCH,
  earlier?: { readonly state: State },
) {
  const { algorithm, quota } = compileSlidingWindow(slidingWindow(options));
  const state = earlier?.state ?? algorithm.createState(quota);
  let clock = now;
  algorithm.advance(state, quota, 0, clock);
  return {
    state,
    pass(elapsed: number) {
      clock += elapsed;
      algorithm.advance(state, quota, elapsed, clock);
    },
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

describe("slidingWindow of two windows", () => {
  test("the previous window counts by the share that is still covered", () => {
    const window = open({ limit: 100, window: "1m" });
    window.ask(100);
    window.pass(75 * SECOND);
    // 15 of 60 seconds into the next window: 3/4 of a hundred still count.
    expect(window.report().remaining).toBe(25);
    expect(window.ask(26)).toBe(0.6 * SECOND);
    expect(window.ask(25)).toBe(0);
    expect(window.ask()).toBe(0.6 * SECOND);
  });

  test("a fraction of a unit counts as a whole unit", () => {
    const window = open({ limit: 10, window: "1m" });
    window.ask(10);
    window.pass(60 * SECOND + 1);
    expect(window.report().remaining).toBe(0);
    expect(window.ask()).toBe(6 * SECOND - 1);
  });

  test("windows are aligned to the epoch, whenever the first request comes", () => {
    const window = open({ limit: 10, window: "1m" }, EPOCH + 50 * SECOND);
    window.ask(10);
    // Nothing fades until the minute is over; then a tenth is six seconds.
    expect(window.ask()).toBe(16 * SECOND);
    expect(window.report().resetAfter).toBe(70 * SECOND);
  });

  test("all units are forgotten after two windows without requests", () => {
    const window = open({ limit: 10, window: "1m" }, EPOCH + 50 * SECOND);
    window.ask(10);
    window.pass(70 * SECOND);
    expect(window.report()).toEqual({ remaining: 10, resetAfter: 0, refillAfter: 0 });
  });

  test("a cost above the limit never passes", () => {
    expect(open({ limit: 3, window: "1s" }).ask(4)).toBe(NEVER);
  });
});

describe("slidingWindow of sub-windows", () => {
  test("the oldest sub-window counts in full until the window has passed it", () => {
    const window = open({ limit: 10, window: "1m", buckets: 6 });
    window.ask(4);
    window.pass(10 * SECOND);
    window.ask(6);
    expect(window.ask(4)).toBe(60 * SECOND);
    expect(window.ask(5)).toBe(70 * SECOND);
    window.pass(60 * SECOND - 1);
    expect(window.ask(4)).toBe(1);
    window.pass(1);
    expect(window.ask(4)).toBe(0);
  });

  test.prop([
    fc.array(fc.tuple(fc.integer({ min: 0, max: 1_500_000 }), fc.integer({ min: 1, max: 4 })), {
      minLength: 20,
      maxLength: 100,
    }),
    fc.integer({ min: 2, max: 9 }),
    fc.nat(SECOND),
  ])(
    "never admits more than the limit in any window, however the sender aims",
    (calls, buckets, phase) => {
      const length = 4 * SECOND;
      const window = open({ limit: 7, window: "4s", buckets }, EPOCH + phase);
      const admitted: (readonly [time: number, cost: number])[] = [];
      let now = 0;
      for (const [gap, cost] of calls) {
        now += gap;
        window.pass(gap);
        if (window.ask(cost) === 0) admitted.push([now, cost]);
      }
      for (const [from] of admitted) {
        const within = admitted.filter(([time]) => time >= from && time < from + length);
        expect(within.reduce((sum, [, cost]) => sum + cost, 0)).toBeLessThanOrEqual(7);
      }
    },
  );

  test("admissions fall short of the limit by at most one sub-window", () => {
    const window = open({ limit: 7, window: "4s", buckets: 4 });
    let admitted = 0;
    for (let now = 0; now < 40 * SECOND; now += SECOND / 8) {
      while (window.ask() === 0) admitted += 1;
      window.pass(SECOND / 8);
    }
    expect(admitted).toBe(7 * 8); // seven every five seconds
  });

  test("sub-windows cover a window that cannot be divided evenly", () => {
    const { quota } = compileSlidingWindow(slidingWindow({ limit: 1, window: 1, buckets: 7 }));
    expect(quota).toEqual({ limit: 1, size: 143, count: 8 });
  });

  test("a refund affects only the sub-window that was charged", () => {
    const window = open({ limit: 10, window: "1m", buckets: 6 });
    window.ask(4);
    window.pass(25 * SECOND);
    window.ask(6);
    expect(window.refund(4, 25 * SECOND)).toBe(true);
    expect(window.report().remaining).toBe(4);
    expect(window.refund(4, 25 * SECOND)).toBe(false);
    expect(window.refund(4, 15 * SECOND)).toBe(false);
    expect(window.refund(4, 90 * SECOND)).toBe(false);
    expect(window.report().remaining).toBe(4);
  });
});

describe.each([1, 6])("slidingWindow with a limit below the used units, buckets: %i", (buckets) => {
  const large = open({ limit: 500, window: "1m", buckets });
  large.ask(500);
  const last = buckets === 1 ? 120 : 70;

  test("the report has the excess, and no negative time", () => {
    const { remaining, resetAfter, refillAfter } = open(
      { limit: 10, window: "1m", buckets },
      EPOCH,
      large,
    ).report();
    expect(remaining).toBe(-490);
    expect(resetAfter).toBe(last * SECOND);
    // Of two windows a fiftieth has to be left of the second one, less a unit that may be spent.
    expect(refillAfter).toBe(buckets === 1 ? 118.92 * SECOND : last * SECOND);
  });

  test("a request is admitted once usage is below the limit, and not a microsecond before", () => {
    const small = open({ limit: 10, window: "1m", buckets }, EPOCH, large);
    const { refillAfter } = small.report();
    expect(small.ask()).toBe(refillAfter);
    small.pass(refillAfter - 1);
    expect(small.report()).toMatchObject({ refillAfter: 1 });
    expect(small.report().remaining).toBeLessThanOrEqual(0);
    small.pass(1);
    expect(small.report().remaining).toBeGreaterThan(0);
    expect(small.ask()).toBe(0);
  });
});

describe("slidingWindow", () => {
  test("the limit is named by its units and window", () => {
    expect(compileLimit(slidingWindow({ limit: 5, window: "1h", buckets: 60 }))).toMatchObject({
      name: "5-per-1h",
      per: "default",
      limit: 5,
      windowMs: 3_600_000,
    });
  });

  test("each number of buckets has counters of its own, and the default is 1", () => {
    const canonical = (buckets: number | undefined) =>
      compileSlidingWindow(slidingWindow({ limit: 5, window: "1h", buckets })).canonical;
    expect(canonical(undefined)).toBe(canonical(1));
    expect(canonical(2)).not.toBe(canonical(1));
  });
});
