import { expect, test } from "vitest";
import { formatCount, pluralize } from "../../../src/counts.ts";
import { formatBytes, formatRate, formatShare, formatShort } from "./numbers.ts";

test.each([
  [0, "0"],
  [980, "980"],
  [999.9, "1k"],
  [12_345, "12.3k"],
  [999_600, "1M"],
  [3_000_000_000, "3G"],
])("the count %d is shortened to %s", (count, text) => expect(formatShort(count)).toBe(text));

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

test("a share is 0 % only for nothing, and 100 % only for the whole", () => {
  expect(formatShare(0, 10)).toBe("0\u00a0%");
  expect(formatShare(0, 0)).toBe("0\u00a0%");
  expect(formatShare(10, 10)).toBe("100\u00a0%");
  expect(formatShare(1, 1_000_000)).toBe("<\u00a00.01\u00a0%");
  expect(formatShare(999_999, 1_000_000)).toBe(">\u00a099.99\u00a0%");
  expect(formatShare(1, 3)).toBe("33.3\u00a0%");
});

test.each([
  [0, "0"],
  [999, "999"],
  [1_000, "1,000"],
  [123_456, "123,456"],
  [1_234.5678, "1,234.5678"],
  [-9_999_999_999, "-9,999,999,999"],
])("the count %d is formatted as %s", (count, text) => expect(formatCount(count)).toBe(text));

test("a count of one takes the singular", () => {
  expect(pluralize(1, "process", "processes")).toBe("1 process");
  expect(pluralize(2_000, "process", "processes")).toBe("2,000 processes");
});

test("bytes are formatted in units of 1,024", () => {
  expect(formatBytes(0)).toBe("0 bytes");
  expect(formatBytes(40_055_603)).toBe("38.2 MB");
});
