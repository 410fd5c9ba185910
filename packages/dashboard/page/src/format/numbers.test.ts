import { expect, test } from "vitest";
import { formatCount, pluralize } from "../../../src/counts.ts";
import { formatBytes, formatRate } from "./numbers.ts";

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
