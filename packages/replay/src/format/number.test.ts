import { expect, test } from "vitest";
import { formatShare, formatShortCount } from "./number.ts";

test.each([
  [0, 10, "0 %"],
  [0, 0, "0 %"],
  [1, 1_000_000, "< 0.01 %"],
  [1, 1_000, "0.10 %"],
  [999_999, 1_000_000, "> 99.99 %"],
  [10, 10, "100 %"],
  [1, 3, "33.3 %"],
])("the share %d of %d is formatted as %s", (part, whole, written) => {
  expect(formatShare(part, whole)).toBe(written.replaceAll(" ", "\u00a0"));
});

test.each([
  [0, "0"],
  [980, "980"],
  [999.9, "1k"],
  [12_345, "12.3k"],
  [999_600, "1M"],
  [1_500, "1.5k"],
  [2_000_000, "2M"],
  [3_210_000_000, "3.21G"],
])("the count %d is shortened to %s", (count, written) => {
  expect(formatShortCount(count)).toBe(written);
});
