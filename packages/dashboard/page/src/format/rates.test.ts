import { expect, test } from "vitest";
import { chartColumns, formatRate, ratesOfMinute, sparklineBuckets, toBuckets } from "./rates.ts";

const point = (at: number, allowed: number, denied = 0, degraded = 0) => ({
  at,
  allowed,
  denied,
  degraded,
});

test("the decisions of a minute become rates per second", () => {
  expect(ratesOfMinute(point(0, 120, 12, 3))).toEqual({ allowed: 2, denied: 0.2, degraded: 0.05 });
});

test("a chart shows 0 where nothing was decided, and a gap where decisions are unknown", () => {
  const series = { stepMs: 10_000, points: [point(20_000, 30, 10), point(40_000, 5)] };
  const columns = chartColumns(series, 0, 64_000, 15_000);
  expect(columns.times).toEqual([5, 15, 25, 35, 45, 57, 62]);
  expect(columns.requests).toEqual([null, 0, 4, 0, 0.5, null, null]);
  expect(columns.allowed).toEqual([null, 0, 3, 0, 0.5, null, null]);
});

test("an unfinished hour is drawn by its rate so far, after its first minute", () => {
  const series = { stepMs: 3_600_000, points: [point(3_600_000, 600, 60)] };
  const early = chartColumns(series, 0, 3_600_000 + 65_000, 0);
  expect(early.requests).toEqual([0, null]);
  const later = chartColumns(series, 0, 3_600_000 + 600_000, 0);
  expect([later.times, later.requests]).toEqual([
    [1_800, 3_900],
    [0, 1.1],
  ]);
  const half = { stepMs: 43_200_000, points: [point(43_200_000, 30, 6)] };
  const parts = sparklineBuckets(half, 30 * 86_400_000, 43_200_000 + 21_600_000);
  expect(parts).toHaveLength(60);
  expect(parts.at(-1)).toEqual({ allowed: 60, denied: 12, degraded: 0 });
});

test("a sparkline has whole steps, merged if there are many", () => {
  const points = Array.from({ length: 60 }, (_, i) => point(i * 60_000, 1));
  const minutes = sparklineBuckets({ stepMs: 60_000, points }, 3_600_000, 3_600_000 + 7_000);
  expect(minutes).toHaveLength(59);
  expect(new Set(minutes.map(({ allowed }) => allowed))).toEqual(new Set([1]));
  const hours = sparklineBuckets({ stepMs: 600_000, points: [] }, 30 * 86_400_000, 40 * 86_400_000);
  expect(hours).toHaveLength(59);
});

test("a sparkline leaves out half a day of which less than half has passed", () => {
  const stepMs = 43_200_000;
  const at = 1_800_000_000_000 - (1_800_000_000_000 % stepMs);
  const series = { stepMs, points: [point(at - stepMs, 10), point(at, 10)] };
  const last = (ms: number) => sparklineBuckets(series, 60 * stepMs, at + ms).at(-1)?.allowed;
  expect(last(stepMs / 2 - 1)).toBe(10);
  expect(last(stepMs / 2)).toBe(20);
});

test("buckets leave out points outside their range", () => {
  const parts = toBuckets([point(-1, 1), point(0, 2), point(99, 3), point(100, 4)], 0, 100, 2);
  expect(parts.map(({ allowed }) => allowed)).toEqual([2, 3]);
});

test.each([
  [0, 60_000, 3_600_000],
  [3_000, 60_000, 3_600_000],
  [30_000, 60_000, 3_600_000],
  [2_000, 20_000, 900_000],
  [600_000, 1_800_000, 86_400_000],
])(
  "a sparkline begins with a known step %i ms after a step of %i ms began",
  (ms, stepMs, spanMs) => {
    const at = 1_800_000_000_000 + ms;
    const steps = Array.from({ length: 60 }, (_, i) => (Math.floor(at / stepMs) - i) * stepMs);
    // As readUsage returns them: a step that began before the span is left out.
    const points = steps
      .filter((from) => from > at - spanMs)
      .map((from) => ({ at: from, allowed: 1, denied: 0, degraded: 0 }));
    const [first] = sparklineBuckets({ stepMs, points }, spanMs, at);
    expect(first?.allowed).toBe(1);
  },
);

test.each([
  [0, "0"],
  [0.004, "< 0.01"],
  [0.253, "0.25"],
  [7.44, "7.4"],
  [45.16, "45.2"],
  [1_240.4, "1,240"],
])("a rate of %d per second is formatted as %s", (rate, text) =>
  expect(formatRate(rate)).toBe(text),
);
