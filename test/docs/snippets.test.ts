import { afterAll, expect, inject, test } from "vitest";
import type { Block } from "./markdown.ts";
import { blocksOf, PAGES, shownFiles } from "./markdown.ts";
import { compileSnippets } from "./snippets.ts";

// Files that a page shows are compiled and tested where they are.
const shown = new Set(PAGES.flatMap(shownFiles));
const blocks = blocksOf(PAGES, "ts", "js").filter(({ text }) => !shown.has(text));

/** Snippets that are wrong, in types and when they run: they are found among the others. */
const wrong: readonly Block[] = [
  {
    place: "nowhere:1",
    language: "ts",
    text: 'import { gcra } from "@headgate/core";\ngcra({ limit: 1, windw: 1 });\n',
  },
  {
    place: "nowhere:9",
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
  expect(late?.complaints).toEqual(["Error: late"]);
  expect(outcomes.filter(({ complaints }) => complaints.length > 0)).toEqual([]);
  outcomes.forEach(({ place, printed }, i) => {
    // What a comment behind console.log promises, up to a colon.
    const promises = blocks[i]?.text.matchAll(/console\.log\(.*\);? \/\/ ([^:\n]+)/g) ?? [];
    const promised = [...promises].map((match) => match[1]);
    if (promised.length > 0) expect([place, ...printed]).toEqual([place, ...promised]);
  });
  expect(outcomes).toHaveLength(blocks.length);
});
