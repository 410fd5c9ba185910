import { describe, expect, test } from "vitest";
import type { FixedWindowLimit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { NEVER } from "./exact-arithmetic.ts";
import { compileFixedWindow, fixedWindow } from "./fixed-window.ts";

const SECOND = 1_000_000;

/** A window on a clock of its own that starts at `now` microseconds. */
function open(options: Omit<FixedWindowLimit, "algorithm">, now = 1_800_000_000 * SECOND) {
  const { algorithm, quota } = compileFixedWindow(fixedWindow(options));
  const state = algorithm.createState(quota);
  let clock = now;
  algorithm.advance(state, quota, 0, clock);
  return {
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

describe("fixedWindow", () => {
  test("a window begins with the first request", () => {
    const window = open({ limit: 2, window: "4s" });
    window.pass(3 * SECOND);
    expect(window.ask()).toBe(0);
    window.pass(SECOND);
    expect(window.ask()).toBe(0);
    expect(window.ask()).toBe(3 * SECOND);
    window.pass(3 * SECOND - 1);
    expect(window.ask()).toBe(1);
    window.pass(1);
    expect(window.ask()).toBe(0);
    expect(window.report()).toEqual({
      remaining: 1,
      resetAfter: 4 * SECOND,
      refillAfter: 4 * SECOND,
    });
  });

  test("an aligned window begins at a multiple since the epoch, whenever the first request comes", () => {
    const window = open({ limit: 2, window: "1m", align: "clock" }, 1_800_000_042 * SECOND);
    window.ask(2);
    expect(window.ask()).toBe(18 * SECOND);
    window.pass(18 * SECOND);
    expect(window.ask(2)).toBe(0);
    expect(window.ask()).toBe(60 * SECOND);
  });

  test("an aligned window stays aligned after windows without requests", () => {
    const window = open({ limit: 1, window: "1m", align: "clock" }, 1_800_000_042 * SECOND);
    window.ask();
    window.pass(7 * 60 * SECOND + 5 * SECOND);
    expect(window.ask()).toBe(0);
    expect(window.ask()).toBe(13 * SECOND);
  });

  test("at most twice the limit is admitted across a boundary, as documented", () => {
    const window = open({ limit: 100, window: "1s" });
    window.ask(1);
    window.pass(SECOND - 1);
    expect(window.ask(99)).toBe(0);
    window.pass(1);
    expect(window.ask(100)).toBe(0);
    expect(window.ask()).toBe(SECOND);
  });

  test("a cost above the limit never passes, and a denial charges nothing", () => {
    const window = open({ limit: 3, window: "1s" });
    expect(window.ask(4)).toBe(NEVER);
    expect(window.report().remaining).toBe(3);
    window.ask(2);
    expect(window.ask(2)).toBe(SECOND);
    expect(window.report().remaining).toBe(1);
  });

  test("a refund affects only the window that was charged", () => {
    const window = open({ limit: 3, window: "1s" });
    window.ask(2);
    window.pass(SECOND / 2);
    expect(window.refund(2, SECOND / 2)).toBe(true);
    expect(window.report().remaining).toBe(3);

    window.ask(2);
    window.pass(SECOND);
    window.ask(3);
    expect(window.refund(2, SECOND)).toBe(false);
    expect(window.report().remaining).toBe(0);
  });

  test("a refund of more than the used units leaves the whole limit", () => {
    const window = open({ limit: 3, window: "1s" });
    window.ask(1);
    expect(window.refund(3, 0)).toBe(true);
    expect(window.report().remaining).toBe(3);
    expect(window.refund(3, 0)).toBe(false);
  });

  test("each alignment has counters of its own", () => {
    const canonical = (align: "first" | "clock" | undefined) =>
      compileFixedWindow(fixedWindow({ limit: 5, window: "1s", align })).canonical;
    expect(canonical(undefined)).toBe(canonical("first"));
    expect(canonical("clock")).not.toBe(canonical("first"));
  });

  test("the limit is named by its units and window", () => {
    expect(compileLimit(fixedWindow({ limit: 5, window: "90s" }))).toMatchObject({
      name: "5-per-90s",
      per: "default",
      limit: 5,
      windowMs: 90_000,
    });
  });
});
