import { expect, test } from "vitest";
import { formatCount, pluralize } from "./counts.ts";

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
