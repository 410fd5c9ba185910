import { afterAll, describe, expect, inject, test } from "vitest";
import { blocksOf, PAGES, shownFiles } from "./markdown.ts";
import { compileSnippets } from "./snippets.ts";

// Files that a page shows are compiled and tested where they are.
const shown = new Set(PAGES.flatMap(shownFiles));
const blocks = blocksOf(PAGES, "ts", "js").filter(({ text }) => !shown.has(text));

describe("every snippet", () => {
  const snippets = compileSnippets(blocks);

  afterAll(() => snippets.remove());

  test("compiles against the sources", () => {
    expect(blocks.length).toBeGreaterThan(20);
    expect(snippets.typeErrors).toEqual([]);
  });

  test("runs on the built packages, and prints what it says", () => {
    const outcomes = snippets.run(inject("redisSocket"));
    expect(outcomes.filter(({ complaints }) => complaints.length > 0)).toEqual([]);
    outcomes.forEach(({ place, printed }, i) => {
      // What a comment behind console.log promises, up to a colon.
      const promises = blocks[i]?.text.matchAll(/console\.log\(.*\);? \/\/ ([^:\n]+)/g) ?? [];
      const promised = [...promises].map((match) => match[1]);
      if (promised.length > 0) expect([place, ...printed]).toEqual([place, ...promised]);
    });
    expect(outcomes).toHaveLength(blocks.length);
  });
});

test("a snippet that is wrong is found, in types or when it runs", () => {
  const place = "nowhere:1";
  const language = "ts";
  const snippets = compileSnippets([
    {
      place,
      language,
      text: 'import { gcra } from "@headgate/core";\ngcra({ limit: 1, windw: 1 });\n',
    },
    {
      place,
      language,
      text: 'import "@headgate/core";\nvoid Promise.reject(new Error("late"));\n',
    },
  ]);
  expect(snippets.typeErrors).toMatchObject([expect.stringContaining("nowhere:1, line 2")]);
  const [, late] = snippets.run(inject("redisSocket"));
  expect(late?.complaints).toEqual(["Error: late"]);
  snippets.remove();
});
