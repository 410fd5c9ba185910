import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { page, ROOT, section, tablesOf } from "./markdown.ts";

const README = page("README.md");
const COMPARISON = page("docs/understand/comparison.md");
const [inReadme] = tablesOf(section(README, "Compared with others"));
const [onPage] = tablesOf(COMPARISON.text);

/** The text of a cell, without where its links lead. */
const textOf = (cell: string) => cell.replace(/\[([^\]]+)\](?:\[[^\]]*\]|\([^)]*\))/g, "$1");

test("the README and the page compare limiters by the same table", () => {
  expect(inReadme?.rows.length).toBe(10);
  expect(inReadme?.rows.map((row) => row.map(textOf))).toEqual(
    onPage?.rows.map((row) => row.map(textOf)),
  );
});

describe.each([README, COMPARISON])("the comparison in $path", ({ text }) => {
  test("names a source for every other limiter, and leaves no reference undefined", () => {
    const sources = new Map(
      [...text.matchAll(/^\[([\w-]+)\]: (https:\/\/\S+)$/gm)].map(([, name, url]) => [name, url]),
    );
    const used = [...text.matchAll(/\]\[([\w-]+)\]/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual([...sources.keys()].sort());
    const [, ...others] = tablesOf(text).find(({ rows }) => rows.length === 10)?.rows ?? [];
    for (const [name] of others) expect(name).toMatch(/^\[.+\]\[[\w-]+\]( [\d.]+)?$/);
  });
});

test("the page compares the versions that are installed beside the tests", () => {
  const installed = [
    "express-rate-limit",
    "@fastify/rate-limit",
    "rate-limiter-flexible",
    "@nestjs/throttler",
    "hono-rate-limiter",
    "bottleneck",
  ];
  const prose = section(COMPARISON, "How it was checked").replaceAll(/\s+/g, " ");
  for (const name of installed) {
    const file = join(ROOT, "node_modules", name, "package.json");
    const [major, minor] = JSON.parse(readFileSync(file, "utf8")).version.split(".");
    expect(prose.toLowerCase()).toContain(`${name} ${major}.${minor}`);
  }
});

test("the README counts the faults that the measured tables have", () => {
  const outages = page("test/faults/OUTAGES.md");
  const rowsOf = (heading: string) => tablesOf(section(outages, heading))[0]?.rows ?? [];
  expect(README.text).toContain(`${rowsOf("Headgate").length} kinds\nof fault are [tested`);
});

test("the README shows code within half a screen", () => {
  const lines = README.text.split("\n");
  expect(lines.findIndex((line) => line.startsWith("```"))).toBeLessThan(20);
});
