import { expect, test } from "vitest";
import { page } from "./markdown.ts";

/** How many lines a page may have that people read before they decide to read on. */
const PAGES = [
  { path: "README.md", lines: 200 },
  { path: "packages/core/README.md", lines: 80 },
];

test.each(PAGES)("$path has at most $lines lines", ({ path, lines }) => {
  expect(page(path).text.trimEnd().split("\n").length).toBeLessThanOrEqual(lines);
});
