import { existsSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { anchorsOf, linksOf, PAGES, page, ROOT, section } from "./markdown.ts";

describe.each(PAGES)("$path", (it) => {
  test("has no dead link", () => {
    for (const { target, anchor } of linksOf(it)) {
      expect(existsSync(join(ROOT, target)), target).toBe(true);
      if (anchor !== "") expect(anchorsOf(page(target)), `${target}#${anchor}`).toContain(anchor);
    }
  });

  test("names only existing error codes", () => {
    for (const [code] of it.text.matchAll(/HEADGATE_[A-Z_]+(?<!_)/g)) {
      // Variables that only the tests use.
      if (["HEADGATE_REDIS_SERVER", "HEADGATE_LONG"].includes(code)) continue;
      expect(Object.keys(ERROR_CODES)).toContain(code);
    }
  });
});

test("the index of how-tos links every how-to, recipe and migration", () => {
  const index = page("docs/how-to/index.md");
  const leadsTo = new Set(linksOf(index).map(({ target }) => target));
  const pages = PAGES.filter((it) => /^docs\/(?:how-to|recipes|moving)\//.test(it.path));
  expect(pages.length).toBeGreaterThan(25);
  expect(pages.filter((it) => it !== index && !leadsTo.has(it.path))).toEqual([]);
});

test("the path of a request has nine steps, and names no file twice", () => {
  const path = "CONTRIBUTING.md";
  const text = section(page(path), "The path of a request");
  expect(text.match(/^\d+\. /gm)).toHaveLength(9);
  const files = linksOf({ path, text, blocks: [] }).map(({ target }) => target);
  expect(files).toEqual([...new Set(files)]);
});
