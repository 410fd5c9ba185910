import { afterAll, expect, inject, test } from "vitest";
import type { Block } from "./markdown.ts";
import { blocksOf, PAGES, shownFiles } from "./markdown.ts";
import { compileSnippets } from "./snippets.ts";

// Files that a page includes are compiled and tested in their own folders.
const shown = new Set(PAGES.flatMap(shownFiles));
const blocks = blocksOf(PAGES, "ts", "js").filter(({ text }) => !shown.has(text));

/** Snippets with a type error and a runtime error, which the suite must find among the others. */
const wrong: readonly Block[] = [
  {
    location: "nowhere:1",
    language: "ts",
    text: 'import { gcra } from "@headgate/core";\ngcra({ limit: 1, windw: 1 });\n',
  },
  {
    location: "nowhere:9",
    language: "ts",
    text: 'import "@headgate/core";\nvoid Promise.reject(new Error("late"));\n',
  },
];

const snippets = compileSnippets([...wrong, ...blocks]);
afterAll(() => snippets.remove());

test("every snippet compiles against the sources, and wrong ones do not", () => {
  expect(blocks.length).toBeGreaterThan(20);
  expect(snippets.typeErrors).toEqual([expect.stringContaining("nowhere:1, line 2")]);
});

test("every snippet runs on the built packages and prints the documented output", () => {
  const [, late, ...outcomes] = snippets.run(inject("redisSocket"));
  expect(late?.problems).toEqual(["Error: late"]);
  expect(outcomes.filter(({ problems }) => problems.length > 0)).toEqual([]);
  outcomes.forEach(({ location, printed }, i) => {
    // A comment after console.log promises the output, up to a colon.
    const promises = blocks[i]?.text.matchAll(/console\.log\(.*\);? \/\/ ([^:\n]+)/g) ?? [];
    const promised = [...promises].map((match) => match[1]);
    if (promised.length > 0) expect([location, ...printed]).toEqual([location, ...promised]);
  });
  expect(outcomes).toHaveLength(blocks.length);
});
