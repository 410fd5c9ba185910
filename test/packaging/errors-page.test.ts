import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES } from "@headgate/core";
import { expect, test } from "vitest";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/errors.md"), "utf8");
const [, ...chapters] = page.split(/^## /m);

test("docs/reference/errors.md has a chapter for exactly the existing error codes, in their order", () => {
  expect(chapters.map((chapter) => chapter.split("\n")[0])).toEqual(Object.keys(ERROR_CODES));
});

test("every chapter of an error says what happened and what to do", () => {
  const isComplete = (chapter: string): boolean =>
    /^HEADGATE_\w+\n\n\S.+\n\n\*\*What to do\*\*: /s.test(chapter);
  expect(chapters.filter((chapter) => !isComplete(chapter))).toEqual([]);
});
