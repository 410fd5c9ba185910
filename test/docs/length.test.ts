import { expect, test } from "vitest";
import { PAGES } from "./markdown.ts";

/** The most lines of a page that people read before they decide to read on. */
const LINES = { "README.md": 200, "packages/*/README.md": 80 };

const readmes = PAGES.filter(({ path }) => path.endsWith("README.md"));

test.each(readmes)("$path is short", ({ path, text }) => {
  const most = path === "README.md" ? LINES["README.md"] : LINES["packages/*/README.md"];
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(most);
});

test("each package has one", () => {
  expect(readmes.length).toBeGreaterThan(6);
});

test("the documentation has at most 58,000 words", () => {
  const pages = PAGES.filter(({ path }) => path.startsWith("docs/"));
  // A word has a letter or a digit: the bars and rules of tables are none. Code counts, too.
  const words = pages.flatMap(({ text }) => text.match(/\S*[\p{L}\p{N}]\S*/gu) ?? []);
  expect(words.length).toBeLessThanOrEqual(58_000);
});
