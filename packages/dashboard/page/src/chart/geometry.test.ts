import { expect, test } from "vitest";
import { areaPath, linePath, rateTicks, timeTicks } from "./geometry.ts";

const x = (i: number) => i * 10;
const y = (value: number) => 100 - value;

test("a chart draws nothing where values are unknown", () => {
  const values = [null, 1, 2, null, 0, null];
  expect(linePath(values, x, y)).toBe("M10 99L20 98M40 100");
  expect(areaPath(values, x, y)).toBe("M10 100L10 99L20 98L20 100ZM40 100L40 100L40 100Z");
  expect(linePath([], x, y)).toBe("");
});

test("the rate axis has ticks at round numbers", () => {
  expect(rateTicks(10, 4)).toEqual([0, 5, 10]);
  expect(rateTicks(0.1, 4)).toEqual([0, 0.05, 0.1]);
  expect(rateTicks(7_900, 4)).toEqual([0, 2_000, 4_000, 6_000]);
});

test("the time axis has ticks at round times of day, and dates at midnight", () => {
  const from = new Date(2026, 10, 22, 22, 3).getTime();
  const hours = timeTicks(from, from + 4 * 3_600_000, 5);
  expect(hours.map(({ label }) => label)).toEqual(["23:00", "23 Nov", "01:00", "02:00"]);
  const days = timeTicks(from, from + 30 * 86_400_000, 10);
  expect(days.length).toBeLessThanOrEqual(10);
  expect(days.map(({ label }) => label)[0]).toBe("25 Nov");
});
