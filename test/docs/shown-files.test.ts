import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PAGES, ROOT, shownFiles, withFiles } from "./markdown.ts";

/** `WRITE_FILES=1` writes the files into the pages. */
const isWriting = process.env["WRITE_FILES"] === "1";

const showing = PAGES.filter(({ text }) => text.includes("\n<!-- file: "));

test.each(showing)("$path shows the current content of its files", (page) => {
  expect(shownFiles(page)).toHaveLength(page.text.match(/^<!-- file: /gm)?.length ?? 0);
  if (isWriting) writeFileSync(join(ROOT, page.path), withFiles(page));
  else expect(page.text).toBe(withFiles(page));
});

test("each recipe shows a file of an example", () => {
  const recipes = PAGES.filter(({ path }) => path.startsWith("docs/recipes/"));
  expect(recipes.length).toBeGreaterThan(0);
  expect(recipes.filter((page) => shownFiles(page).length === 0)).toEqual([]);
});
