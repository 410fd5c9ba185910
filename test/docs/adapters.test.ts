import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gcra } from "@headgate/core";
import * as http from "@headgate/core/http";
import { describe, expect, test } from "vitest";
import { codeIn, linksOf, page, ROOT, section, tablesOf } from "./markdown.ts";

const it = page("docs/how-to/adapters.md");

/** The exported types and values of the entry. */
const exported = [
  ...readFileSync(join(ROOT, "packages/core/src/http/index.ts"), "utf8").matchAll(
    /^export (?:type )?\{([^}]+)\}/gm,
  ),
].flatMap(([, names = ""]) => names.split(",").flatMap((name) => name.trim() || []));

test("the entry for adapters exports what its index lists", () => {
  expect(exported).toContain("createHttpGuard");
  const values = exported.filter((name) => name in http);
  expect(values.toSorted()).toEqual(Object.keys(http).toSorted());
});

describe("migrating to an adapter", () => {
  const tables = [
    ...tablesOf(section(it, "Coming from koa-ratelimit")),
    ...tablesOf(section(page("docs/how-to/hono.md"), "Coming from hono-rate-limiter")),
  ];
  const options = tables.flatMap(({ rows }) => rows.flatMap(([names = ""]) => codeIn(names)));
  /** The rows about the decorator, and about options that Headgate has as well. */
  const isTheirs = (name: string): boolean =>
    /^\w+$/.test(name) && !["headers", "driver"].includes(name);

  test.each(options.filter(isTheirs))(
    "the option %s of another limiter is an error that names Headgate's equivalent",
    (option) => {
      const limits = gcra({ limit: 1, window: "1s" });
      expect(() => http.createHttpGuard("rateLimit", { limits, [option]: 1 } as never)).toThrow(
        "Headgate's way is",
      );
    },
  );

  test("the hints cover two other limiters", () => {
    expect(tables).toHaveLength(2);
    expect(options).toEqual(expect.arrayContaining(["max", "windowMs"]));
  });
});

test("the page documents each property of an adapter", () => {
  const [table] = tablesOf(section(it, "What an adapter must do"));
  const documented = table?.rows.flatMap(([name = ""]) => codeIn(name));
  const source = readFileSync(join(ROOT, "packages/core/src/http/http-guard.ts"), "utf8");
  const [, members = ""] = /interface HttpAdapter<Request> \{\n([\s\S]*?)\n\}/.exec(source) ?? [];
  expect(documented).toEqual([...members.matchAll(/readonly (\w+)\?:/g)].map(([, name]) => name));
});

test("the page links every example of an adapter", () => {
  const linked = linksOf(it).map(({ target }) => target);
  const examples = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
    .filter((file) => /^[\w-]+\/rate-limit\.mjs$/.test(file))
    .map((file) => `examples/${file.split("/")[0]}`);
  expect(examples).toHaveLength(3);
  expect(linked).toEqual(expect.arrayContaining(examples));
});

test("the adapter on the page is the one of the example", () => {
  /** The function that limits, without types and line numbers. */
  const limitIn = (text: string): string[] => {
    const [, body = ""] = /async function limit\(.*\n([\s\S]*?)\n {2}\}\n/.exec(text) ?? [];
    return body.split("\n").map((line) => line.replace(/ \/\/ \d$/, ""));
  };
  const [block] = it.blocks.filter(({ language }) => language === "ts");
  const example = readFileSync(join(ROOT, "examples/node-http/rate-limit.mjs"), "utf8");
  expect(limitIn(example)).toHaveLength(8);
  expect(limitIn(block?.text ?? "")).toEqual(limitIn(example));
});
