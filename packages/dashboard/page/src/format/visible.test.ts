import { expect, test } from "vitest";
import { visibleStart } from "./visible.ts";

test("what is too long is cut, also in the middle of a character", () => {
  expect(visibleStart("abc", 3)).toBe("abc");
  expect(visibleStart("a\u202eb", 3)).toBe("a\\u{202e}b");
  expect(visibleStart("ab😀", 3)).toBe("ab\\u{d83d}…");
  expect(visibleStart("x".repeat(1_000_000), 10)).toHaveLength(11);
});
