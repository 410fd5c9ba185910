import { describe, expect, test } from "vitest";
import type { HeadgateError } from "../common/errors.ts";
import type { FixedWindowLimit, Limit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { NEVER } from "./exact-arithmetic.ts";
import { fixedWindow } from "./fixed-window.ts";
import { gcra } from "./gcra.ts";

const HOUR = 3_600_000_000;
const micros = (text: string): number => Date.parse(text) * 1_000;

/** A window on a clock of its own. */
function open(options: Omit<FixedWindowLimit, "algorithm">, begin: string) {
  const { algorithm, quota } = compileLimit(fixedWindow(options));
  const state = algorithm.createState(quota);
  let now = micros(begin);
  algorithm.advance(state, quota, 0, now);
  return {
    turnTo(moment: string) {
      const elapsed = micros(moment) - now;
      now += elapsed;
      algorithm.advance(state, quota, Math.max(0, elapsed), now);
    },
    report: () => algorithm.report(state, quota),
    refund: (cost: number, charged: string) =>
      algorithm.refund(state, quota, cost, now - micros(charged)),
    charge: (cost: number) => algorithm.spend(state, quota, cost),
    /** Microseconds to wait; charged when there are none. */
    ask(cost = 1): number {
      const wait = algorithm.waitTime(state, quota, cost);
      if (wait === 0) algorithm.spend(state, quota, cost);
      return wait;
    },
  };
}

const monthly = { limit: 3, window: "month", timeZone: "Europe/Berlin" } as const;

describe("fixedWindow by the calendar", () => {
  test("a window ends at the first instant of the next month in its time zone", () => {
    const window = open(monthly, "2026-03-31T20:00:00Z");
    expect(window.ask(3)).toBe(0);
    expect(window.ask()).toBe(2 * HOUR);
    expect(window.report()).toEqual({ remaining: 0, resetAfter: 2 * HOUR, refillAfter: 2 * HOUR });
    window.turnTo("2026-03-31T21:59:59.999Z");
    expect(window.ask()).toBe(1_000);
    window.turnTo("2026-03-31T22:00:00Z");
    expect(window.ask(3)).toBe(0);
    expect(window.ask()).toBe(30 * 24 * HOUR);
  });

  test("the window is current again after windows without requests", () => {
    const window = open(monthly, "2026-03-31T20:00:00Z");
    window.ask(3);
    window.turnTo("2026-10-31T12:00:00Z");
    expect(window.ask(3)).toBe(0);
    expect(window.ask()).toBe(11 * HOUR);
  });

  test("a cost above the limit never passes, and a denial charges nothing", () => {
    const window = open(monthly, "2026-03-31T20:00:00Z");
    expect(window.ask(4)).toBe(NEVER);
    expect(window.ask(2)).toBe(0);
    expect(window.ask(2)).toBe(2 * HOUR);
    expect(window.report().remaining).toBe(1);
  });

  test("units beyond the limit are forgotten with the window", () => {
    const window = open(monthly, "2026-03-31T20:00:00Z");
    window.charge(10);
    expect(window.report().remaining).toBe(-7);
    window.turnTo("2026-04-01T00:00:00Z");
    expect(window.report()).toEqual({ remaining: 3, resetAfter: 0, refillAfter: 0 });
  });

  test("a refund affects only the window that was charged", () => {
    const window = open(monthly, "2026-03-31T20:00:00Z");
    window.ask(2);
    window.turnTo("2026-03-31T21:00:00Z");
    expect(window.refund(2, "2026-03-31T20:00:00Z")).toBe(true);
    expect(window.refund(2, "2026-03-31T20:00:00Z")).toBe(false);
    window.ask(2);
    window.turnTo("2026-04-01T00:00:00Z");
    window.ask(3);
    expect(window.refund(2, "2026-03-31T21:00:00Z")).toBe(false);
    expect(window.refund(2, "2026-04-01T00:00:00Z")).toBe(true);
    expect(window.report().remaining).toBe(2);
  });

  test("a window lasts until its end although the clock steps back", () => {
    const window = open(monthly, "2026-03-31T21:30:00Z");
    window.ask(3);
    window.turnTo("2026-03-31T21:00:00Z");
    expect(window.ask()).toBe(HOUR);
    expect(window.refund(1, "2026-03-31T20:59:00Z")).toBe(true);
  });

  test("a clock that stepped back past the start makes an earlier window current, with the used units", () => {
    const window = open(monthly, "2027-03-31T21:30:00Z");
    window.ask(2);
    window.turnTo("2026-03-31T21:00:00Z");
    expect(window.ask(2)).toBe(HOUR);
    expect(window.ask(1)).toBe(0);
  });

  test("the limit is named after its calendar window", () => {
    expect(compileLimit(fixedWindow({ limit: 1_000, window: "week" }))).toMatchObject({
      name: "1000-per-week",
      limit: 1_000,
      canonical: "fixedWindow(1000,week,UTC)",
      shape: { id: "fixedWindow(week,UTC)" },
    });
  });

  test("each window and time zone has counters of its own, and the default zone is UTC", () => {
    const shape = (options: Omit<FixedWindowLimit, "algorithm" | "limit">) =>
      compileLimit(fixedWindow({ limit: 1, ...options })).shape.id;
    expect(shape({ window: "day" })).toBe(shape({ window: "day", timeZone: "UTC" }));
    const shapes = [
      shape({ window: "day" }),
      shape({ window: "month" }),
      shape({ window: "day", timeZone: "Asia/Tokyo" }),
      shape({ window: "day", timeZone: "asia/tokyo" }),
      shape({ window: "1d" }),
      shape({ window: "1d", align: "clock" }),
    ];
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  test("a window of 30d is thirty days, not a month", () => {
    const { windowMs, calendar } = compileLimit(fixedWindow({ limit: 1, window: "30d" }));
    expect({ windowMs, calendar }).toEqual({ windowMs: 30 * 86_400_000, calendar: undefined });
  });
});

describe("a calendar window is refused", () => {
  const refused: [what: string, limit: object, message: RegExp][] = [
    ["beside align", { window: "day", align: "clock" }, /align .*got "clock"/],
    ["beside align first", { window: "day", align: "first" }, /align .*got "first"/],
    ["in no zone", { window: "day", timeZone: "Europe/Nowhere" }, /got "Europe\/Nowhere"/],
    ["in an offset", { window: "day", timeZone: "+02:00" }, /timeZone .*got "\+02:00"/],
    ["in an empty zone", { window: "day", timeZone: "" }, /timeZone .*got ""/],
    ["in a zone that is no text", { window: "day", timeZone: ["UTC"] }, /timeZone/],
    ["in a zone of null", { window: "day", timeZone: null }, /timeZone .*got null/],
    ["with a zone beside a duration", { window: "1d", timeZone: "UTC" }, /timeZone .*"1d"/],
    ["under another word", { window: "decade" }, /"month".*got "decade"/],
    ["in capitals", { window: "Month" }, /got "Month"/],
    ["in the plural", { window: "days" }, /got "days"/],
    ["under a word that every object has", { window: "constructor" }, /got "constructor"/],
    ["without a limit", { window: "day", limit: -1 }, /limit .*got -1/],
    ["of another algorithm", gcra({ limit: 1, window: "month" as "1m" }), /only fixedWindow/],
  ];
  test.each(refused)("%s", (_, options, message) => {
    const refuse = () => compileLimit({ algorithm: "fixedWindow", limit: 1, ...options } as Limit);
    expect(refuse).toThrow(message);
    try {
      refuse();
    } catch (error) {
      expect((error as HeadgateError).code).toBe("HEADGATE_INVALID_LIMIT");
    }
  });
});
