import { describe, expect, test } from "vitest";
import { visible, visibleStart } from "./visible.ts";

describe("visible", () => {
  test.each([
    ["plain", "plain"],
    ["a\u202eb", "a\\u{202e}b"],
    ["a\u0000\n\tb", "a\\x00\\n\\tb"],
    ["zero\u200bwidth", "zero\\u{200b}width"],
    ["half \ud800 of a character", "half \\u{d800} of a character"],
    ["whole 😀", "whole 😀"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ])("%j", (text, expected) => expect(visible(text)).toBe(expected));

  test("cuts what is too long, also in the middle of a character", () => {
    expect(visibleStart("abc", 3)).toBe("abc");
    expect(visibleStart("ab😀", 3)).toBe("ab\\u{d83d}…");
    expect(visibleStart("x".repeat(1_000_000), 10)).toHaveLength(11);
  });
});
