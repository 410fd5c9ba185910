import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { HeadgateError } from "./errors.ts";
import { formatNumber, formatReceived } from "./errors.ts";
import {
  formatDuration,
  MAX_DURATION_MS,
  parseDuration,
  toMicroseconds,
  toMilliseconds,
} from "./time.ts";

function parse(value: unknown): number {
  return parseDuration(value, "window", "HEADGATE_INVALID_LIMIT");
}

describe("parseDuration", () => {
  test.each([
    [1, 1_000],
    [250, 250_000],
    ["250ms", 250_000],
    ["10s", 10_000_000],
    ["1m", 60_000_000],
    ["1h", 3_600_000_000],
    ["7d", 604_800_000_000],
    ["366d", 31_622_400_000_000],
    [MAX_DURATION_MS, 31_622_400_000_000],
    ["00010s", 10_000_000],
    ["250 milliseconds", 250_000],
    ["1 second", 1_000_000],
    ["30 seconds", 30_000_000],
    ["1 minute", 60_000_000],
    ["1 minutes", 60_000_000],
    ["2 hours", 7_200_000_000],
    ["1 day", 86_400_000_000],
    ["366 days", 31_622_400_000_000],
  ])("reads %j as %i microseconds", (value, microseconds) => {
    expect(parse(value)).toBe(microseconds);
  });

  test.each([
    0,
    -5,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    MAX_DURATION_MS + 1,
    "0ms",
    "-1s",
    "1.5s",
    "1e3ms",
    "1000",
    "s",
    "",
    " 1s",
    "1s\n",
    "1 s",
    "1second",
    "1  second",
    "1 Second",
    "1\tsecond",
    "a second",
    "second",
    "1 week",
    "1 month",
    "1.5 hours",
    "1 hour 30 minutes",
    "1 minute ",
    "0 days",
    "367 days",
    "1 constructor",
    "1S",
    "1w",
    "367d",
    "8785h",
    "999999999999999d",
    "9999999999999999s",
    "٣s",
    undefined,
    null,
    true,
    10n,
    ["1s"],
    { ms: 1 },
    Symbol("1s"),
    () => 1,
  ])("%s is refused with the received value", (value) => {
    let error: HeadgateError | undefined;
    try {
      parseDuration(value, "gcra: window", "HEADGATE_INVALID_OPTION");
    } catch (thrown) {
      error = thrown as HeadgateError;
    }
    expect(error?.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error?.message).toContain("gcra: window must be a duration from 1 ms to 366 days");
    expect(error?.message).toContain(`got ${formatReceived(value)}`);
  });

  test.prop([fc.integer({ min: 1, max: MAX_DURATION_MS })])(
    "reads back what formatDuration wrote",
    (ms) => {
      expect(parse(formatDuration(ms * 1_000))).toBe(ms * 1_000);
    },
  );
});

test.each([
  [60_000_000, "1m"],
  [90_000_000, "90s"],
  [86_400_000_000, "1d"],
  [90_000_000_000, "25h"],
  [1_000, "1ms"],
  [1_500_000, "1500ms"],
])("formatDuration writes %i microseconds as %s", (microseconds, text) => {
  expect(formatDuration(microseconds)).toBe(text);
});

test("toMilliseconds rounds up, so that a wait is never too short", () => {
  expect([0, 1, 999, 1_000, 1_001].map(toMilliseconds)).toEqual([0, 1, 1, 1, 2]);
});

test("toMicroseconds accepts fractions and rounds down", () => {
  expect(toMicroseconds(1_800_000_000_000.5)).toBe(1_800_000_000_000_500);
  expect(toMicroseconds(0.001_9)).toBe(1);
});

test.each([
  ["10 s", "10s"],
  ["1 week", "7d"],
  ["15 min", "15m"],
  ["2hrs", "2h"],
  ["1.5 hours", "90m"],
  [" 1 Second ", "1s"],
  ["PT1M", "1m"],
  ["PT1H30M", "90m"],
  ["P1D", "1d"],
  ["P2WT1S", "1209601s"],
])("the error for %j says to write %j", (value, spelling) => {
  expect(() => parse(value)).toThrow(new RegExp(`; got "${value}"; write "${spelling}"$`));
  expect(parse(spelling)).toBeGreaterThan(0);
});

test.each(["1 month", "P1M", "PT", "P", "0 s", "400 days", "a minute", "1 hour 30 minutes", -5])(
  "the error for %j suggests no other spelling",
  (value) => {
    expect(() => parse(value)).toThrow(/; got [^;]*$/);
  },
);

test("an error that hides the value suggests no spelling of it", () => {
  const read = () => parseDuration("15 min", "duration", "HEADGATE_INVALID_OPTION", formatNumber);
  expect(read).toThrow(/; got a string$/);
});
