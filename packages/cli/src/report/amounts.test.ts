import { expect, test } from "vitest";
import { formatShare, formatShortCount, formatSpan } from "./amounts.ts";

test.each([
  [0, "0 ms"],
  [999.2, "1000 ms"],
  [1_500, "1.5 s"],
  [10_000, "10 s"],
  [59_900, "1 min"],
  [125_000, "2 min 5 s"],
  [3_600_000, "1 h"],
  [7_500_000, "2 h 5 min"],
  [86_400_000 + 3_600_000, "1 d 1 h"],
  [Number.POSITIVE_INFINITY, "for ever"],
])("%d ms is %s", (ms, written) => {
  expect(formatSpan(ms)).toBe(written);
});

test.each([
  [0, 10, "0 %"],
  [0, 0, "0 %"],
  [1, 1_000_000, "< 0.01 %"],
  [1, 1_000, "0.10 %"],
  [999_999, 1_000_000, "> 99.99 %"],
  [10, 10, "100 %"],
  [1, 3, "33.3 %"],
])("%d of %d is %s", (part, whole, written) => {
  expect(formatShare(part, whole)).toBe(written);
});

test.each([
  [999, "999"],
  [1_500, "1.5k"],
  [2_000_000, "2M"],
  [3_210_000_000, "3.21G"],
])("%d on an axis is %s", (count, written) => {
  expect(formatShortCount(count)).toBe(written);
});
