import { expect, test } from "vitest";
import { escapeHidden } from "./hidden-text.ts";

test("visible characters stay unchanged", () => {
  for (const text of ["", "203.0.113.7", "tenant=ÅÄÖ/日本", "a\\nb", "👍", "a b", "<img src=x>"]) {
    expect(escapeHidden(text)).toBe(text);
  }
});

test.each([
  ["\u001b]0;title\u0007", "\\x1b]0;title\\x07"],
  ["\u009b2J", "\\x9b2J"],
  ["a\r\nb\tc", "a\\r\\nb\\tc"],
  ["\u202egpj", "\\u{202e}gpj"],
  ["a\u200bb", "a\\u{200b}b"],
  ["\u2028", "\\u{2028}"],
  ["\u{e0041}", "\\u{e0041}"],
  ["\ud800x", "\\u{d800}x"],
  ["\u007f", "\\x7f"],
])("control and invisible characters are escaped: %j", (text, shown) => {
  expect(escapeHidden(text)).toBe(shown);
});
