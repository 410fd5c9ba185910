import { createLimiter, memoryStore } from "@headgate/core";
import { FAILURE_OPTIONS } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { gcra, rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import { rateLimit as honoRateLimit } from "@headgate/hono";
import Fastify from "fastify";
import { describe, expect, test } from "vitest";
import { likeIoredis } from "../support/like-ioredis.ts";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

const OPTIONS = "docs/reference/options.md";
const limits = gcra({ limit: 1, window: "1s" });

/** Reads the known options from the error that an unknown option causes. */
async function optionsOf(make: (options: object) => unknown): Promise<string[]> {
  try {
    await make({ limits, noSuchOption: 1 });
  } catch (error) {
    const [, list] = /it takes (.+)$/.exec((error as Error).message) ?? [];
    return list?.split(", ") ?? [];
  }
  throw new Error("it took an option that does not exist");
}

async function routeOptionsOf(): Promise<string[]> {
  const app = Fastify();
  await app.register(headgate, { limits });
  return optionsOf((options) => app.rateLimit(options));
}

test("each option has a section, and each section is about an option", () => {
  const listed = documented(OPTIONS, "All options", 0);
  const headings = [...page(OPTIONS).text.matchAll(/^### `(.+)`$/gm)].map(([, name]) => name);
  expect(headings.sort()).toEqual([...new Set(listed)].sort());
});

/** Returns the options in the table under a heading. */
function documented(path: string, heading: string, at: number): string[] {
  const table = tablesOf(section(page(path), heading))[at];
  return table?.rows.flatMap(([option = ""]) => codeIn(option)) ?? [];
}

/** Returns the options that the table of all options lists for `taker`. */
function optionsIn(taker: string): string[] {
  const [table] = tablesOf(section(page(OPTIONS), "All options"));
  const rows = table?.rows.filter(([, , of = ""]) => of.split(", ").includes(taker));
  return rows?.flatMap(([option = ""]) => codeIn(option)) ?? [];
}

describe("the table of options lists exactly the existing options", () => {
  test("those of both adapters", async () => {
    expect(await optionsOf((options) => rateLimit(options))).toEqual(optionsIn("adapters"));
  });

  test("those of Hono", async () => {
    const all = [...optionsIn("adapters"), ...optionsIn("Hono")];
    expect((await optionsOf((options) => honoRateLimit(options))).sort()).toEqual(all.sort());
  });

  test("those of Fastify", async () => {
    const all = [...optionsIn("adapters"), ...optionsIn("Fastify")];
    expect((await routeOptionsOf()).sort()).toEqual(all.sort());
  });

  test.each([
    { name: "createLimiter", make: (options: object) => createLimiter(options as never) },
    { name: "memoryStore", make: (options: object) => memoryStore(options) },
    {
      name: "redisStore",
      make: (options: object) =>
        redisStore(
          likeIoredis(async () => []),
          options,
        ),
    },
  ])("those of $name", async ({ name, make }) => {
    const taken = await optionsOf((options) =>
      make({ ...options, limits: undefined, noSuchOption: 1 }),
    );
    expect(optionsIn(`\`${name}\``)).toEqual(taken);
  });
});

describe("the table of a limiter without its store", () => {
  const path = "docs/understand/when-redis-fails.md";

  test("has a row for each option", () => {
    expect(documented(path, "The options", 0)).toEqual(FAILURE_OPTIONS);
  });

  test("has a row for each value of onUnavailable", () => {
    const answers = documented(path, "The options", 1).map((answer) => JSON.parse(answer) as never);
    for (const onUnavailable of answers) createLimiter({ limits, onUnavailable });
    const refuse = () => createLimiter({ limits, onUnavailable: "none" as never });
    expect(refuse).toThrow(
      `must be ${answers.map((answer) => `"${answer}"`).join(", ")}`.replace(
        /, ("\w+")$/,
        " or $1",
      ),
    );
  });

  test.each([
    [path, "The options"],
    [OPTIONS, "All options"],
  ])("has the same defaults in %s under %s", (where, heading) => {
    const [table] = tablesOf(section(page(where), heading));
    const defaults = table?.rows.map(([option = "", value = ""]) => [
      codeIn(option)[0],
      codeIn(value)[0],
    ]);
    expect(defaults).toEqual(
      expect.arrayContaining([
        ["storeTimeout", '"100ms"'],
        ["onUnavailable", '"local"'],
        ["localShare", "1"],
        ["denyCache", "true"],
        ["lease", "false"],
      ]),
    );
  });
});

describe("migrating from another limiter", () => {
  test.each([
    "max",
    "keyGenerator",
    "timeWindow",
    "nameSpace",
    "points",
    "skipOnError",
    "insuranceLimiter",
  ])("the option %s of another limiter is an error that names Headgate's equivalent", (option) => {
    expect(() => rateLimit({ limits, [option]: 1 } as never)).toThrow("Headgate's way is");
  });
});
