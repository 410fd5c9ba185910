import { expect, test } from "vitest";
import { columnsOf, inParts, latestRates, lineParts } from "./rates.ts";

const point = (at: number, allowed: number, denied = 0, degraded = 0) => ({
  at,
  allowed,
  denied,
  degraded,
});

test("now is the last minute that all processes have reported", () => {
  const points = [
    point(30_000, 999),
    point(40_000, 60, 6),
    point(90_000, 60, 6, 3),
    point(100_000, 999),
  ];
  expect(latestRates({ stepMs: 10_000, points }, 115_000)).toEqual({
    allowed: 2,
    denied: 0.2,
    degraded: 0.05,
    overMs: 60_000,
  });
});

test("of longer steps, now is the last complete one", () => {
  const points = [point(0, 999), point(600_000, 600), point(1_200_000, 999)];
  expect(latestRates({ stepMs: 600_000, points }, 1_203_000)).toMatchObject({ overMs: 600_000 });
  expect(latestRates({ stepMs: 600_000, points }, 1_210_000).allowed).toBe(1);
});

test("a chart has 0 where nothing was decided, and nothing where it is not known", () => {
  const series = { stepMs: 10_000, points: [point(20_000, 30, 10), point(40_000, 5)] };
  const columns = columnsOf(series, 0, 64_000, 15_000);
  expect(columns.times).toEqual([5, 15, 25, 35, 45, 55, 65]);
  expect(columns.requests).toEqual([null, 0, 4, 0, 0.5, null, null]);
  expect(columns.allowed).toEqual([null, 0, 3, 0, 0.5, null, null]);
});

test("a small line has whole steps, several together where there are many", () => {
  const points = Array.from({ length: 60 }, (_, i) => point(i * 60_000, 1));
  const minutes = lineParts({ stepMs: 60_000, points }, 3_600_000, 3_600_000 + 7_000);
  expect(minutes).toHaveLength(59);
  expect(new Set(minutes.map(({ allowed }) => allowed))).toEqual(new Set([1]));
  const hours = lineParts({ stepMs: 600_000, points: [] }, 30 * 86_400_000, 40 * 86_400_000);
  expect(hours).toHaveLength(59);
});

test("parts take no point that is outside", () => {
  const parts = inParts([point(-1, 1), point(0, 2), point(99, 3), point(100, 4)], 0, 100, 2);
  expect(parts.map(({ allowed }) => allowed)).toEqual([2, 3]);
});
