import { expect, test } from "vitest";
import { truncateVisible } from "./visible.ts";

test("a long text is truncated, even in the middle of a character", () => {
  expect(truncateVisible("abc", 3)).toBe("abc");
  expect(truncateVisible("a\u202eb", 3)).toBe("a\\u{202e}b");
  expect(truncateVisible("ab😀", 3)).toBe("ab\\u{d83d}…");
  expect(truncateVisible("x".repeat(1_000_000), 10)).toHaveLength(11);
});
