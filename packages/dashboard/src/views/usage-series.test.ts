import { expect, test } from "vitest";
import { lastMinuteOf } from "./usage-series.ts";

const step = (from: number, allowed: number, denied = 0, degraded = 0) => ({
  from,
  allowed,
  denied,
  degraded,
});

test("the last minute is the latest one that all processes have reported", () => {
  const tenSeconds = [
    step(30_000, 999),
    step(40_000, 60, 6),
    step(90_000, 60, 6, 3),
    step(100_000, 999),
  ];
  expect(lastMinuteOf({ tenSeconds }, 115_999)).toEqual({ allowed: 120, denied: 12, degraded: 3 });
  expect(lastMinuteOf({ tenSeconds }, 105_000)).toMatchObject({ allowed: 1_059, degraded: 0 });
});
