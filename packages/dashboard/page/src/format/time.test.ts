import { afterEach, expect, test, vi } from "vitest";
import {
  formatDuration,
  formatFullTime,
  formatLatency,
  formatRelativeTime,
  formatShortTime,
  formatZone,
  parseDuration,
  withLocalTimes,
} from "./time.ts";

const NOON = Date.UTC(2026, 10, 23, 12, 0, 0);

test("a duration of less than a second is shown as one second", () => {
  expect(formatDuration(0)).toBe("1 s");
  expect(formatDuration(7_500_000)).toBe("2 h 5 min");
});

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a time is formatted as briefly as is unambiguous", () => {
  vi.stubEnv("TZ", "UTC");
  expect(formatShortTime(NOON - 1_000, NOON)).toBe("11:59:59");
  expect(formatShortTime(NOON - 86_400_000, NOON)).toBe("22 Nov, 12:00");
  expect(formatShortTime(NOON - 400 * 86_400_000, NOON)).toBe("19 Oct 2025");
  expect(formatShortTime(Number.MAX_VALUE, NOON)).toBe("unknown");
});

test("a time is formatted in the browser's time zone", () => {
  vi.stubEnv("TZ", "Europe/Berlin");
  expect(formatShortTime(NOON, NOON)).toBe("13:00:00");
  // Midnight is over there.
  expect(formatShortTime(NOON + 11.5 * 3_600_000, NOON)).toBe("24 Nov, 00:30");
  expect(formatFullTime(NOON)).toMatch(/^Mon.* 13:00:00.*; 2026-11-23 12:00:00 UTC$/);
});

test.each([
  ["UTC", "UTC"],
  ["Europe/Berlin", "UTC+1"],
  ["Asia/Kolkata", "UTC+5:30"],
  ["America/St_Johns", "UTC−3:30"],
])("the zone %s is labelled %s in November", (zone, label) => {
  vi.stubEnv("TZ", zone);
  expect(formatZone(NOON)).toBe(label);
});

test("the times in a text of the server are shown in the browser's time zone", () => {
  vi.stubEnv("TZ", "Europe/Berlin");
  const text = "5 of 5 used\nblocked until 2026-11-23 12:05:10 UTC, or 2026-11-24 11:00:00 UTC";
  expect(withLocalTimes(text, NOON)).toBe("5 of 5 used\nblocked until 13:05:10, or 24 Nov, 12:00");
  expect(withLocalTimes("2026-99-99 00:00:00 UTC", NOON)).toBe("2026-99-99 00:00:00 UTC");
});

test("a time is formatted relative to now", () => {
  expect(formatRelativeTime(NOON + 500, NOON)).toBe("now");
  expect(formatRelativeTime(NOON + 3_000, NOON)).toBe("in 3 s");
  expect(formatRelativeTime(NOON - 3_000, NOON)).toBe("3 s ago");
});

test("a measured latency keeps its decimals", () => {
  expect(formatLatency(0.421)).toBe("0.42 ms");
  expect(formatLatency(250.4)).toBe("250 ms");
  expect(formatLatency(1_500)).toBe("1.5 s");
});

test.each([
  ["90s", 90_000],
  [" 1.5 h ", 5_400_000],
  ["15min", 900_000],
  ["366d", 366 * 86_400_000],
  ["367d", undefined],
  ["0s", undefined],
  ["1w", undefined],
  ["", undefined],
])("the duration %j is parsed as %s ms", (text, ms) => expect(parseDuration(text)).toBe(ms));
