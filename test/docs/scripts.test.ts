import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Policy, Store } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compilePolicy } from "../../packages/core/src/algorithms/compile-policy.ts";
import type { CounterLimits } from "../../packages/core/src/operations/counter.ts";
import { prepareLimits } from "../../packages/core/src/operations/counter.ts";
import { decide } from "../../packages/core/src/operations/decide.ts";
import { composeScript } from "../../packages/core/src/scripts/compose-script.ts";
import type { CounterShape } from "../../packages/core/src/scripts/counter-shape.ts";
import {
  BLOCK_BYTES,
  BLOCK_FIELDS,
  HEADER_FIELDS,
} from "../../packages/core/src/scripts/counter-shape.ts";
import { encodeDigits, PARAMETER_DIGITS } from "../../packages/core/src/scripts/digits.ts";
import type { ScriptName } from "../../packages/core/src/scripts/script-argument.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { codeIn, page, ROOT, section, tablesOf } from "./markdown.ts";

const it = page("packages/core/src/scripts/SCRIPTS.md");

const limit = 100;
const window = "1m";

/** The limits that the tables of the page name, with windows of a minute. */
const LIMITS: Readonly<Record<string, Policy>> = {
  gcra: gcra({ limit, window }),
  tokenBucket: tokenBucket({ capacity: limit, refill: 10, every: window }),
  fixedWindow: fixedWindow({ limit, window }),
  "fixedWindow by the calendar": fixedWindow({ limit, window: "month" }),
  slidingWindow: slidingWindow({ limit, window }),
  "slidingWindow with 10 buckets": slidingWindow({ limit, window, buckets: 10 }),
  slidingLog: slidingLog({ limit, window }),
  concurrency: concurrency({ limit, ttl: window }),
  "gcra and fixedWindow": [gcra({ limit, window }), fixedWindow({ limit: 50, window })],
  "gcra, fixedWindow and slidingWindow": [
    gcra({ limit, window }),
    fixedWindow({ limit: 50, window }),
    slidingWindow({ limit: 20, window }),
  ],
};

function countedBy(policy: Policy): CounterLimits {
  const limits = [...compilePolicy(policy)];
  return prepareLimits(limits.sort((a, b) => (a.shape.id < b.shape.id ? -1 : 1)));
}

function shapeFor(what = ""): CounterShape {
  const policy = LIMITS[what.replaceAll("`", "")];
  if (policy === undefined) throw new Error(`no limits for ${what}`);
  return countedBy(policy).shape;
}

function tableUnder(heading: string, at = 0): readonly (readonly string[])[] {
  return tablesOf(section(it, heading))[at]?.rows ?? [];
}

function luaUnder(heading: string): string[] {
  const blocks = section(it, heading).matchAll(/^```lua\n([\s\S]*?)^```$/gm);
  return [...blocks].map((match) => match[1] as string);
}

/** The Lua files without comments, by folder. */
function partsIn(folder: string, files = /\.lua$/): string[] {
  const dir = join(ROOT, "packages/core/src", folder);
  return readdirSync(dir)
    .filter((file) => files.test(file))
    .map((file) => readFileSync(join(dir, file), "utf8"));
}

const without = (text: string, pattern: RegExp) => text.replace(pattern, "");

test("the script on the page is the composed one", () => {
  const { source } = composeScript("decide-single", [shapeFor("gcra")]);
  const printed = without(luaUnder("The script").join(""), /^ +/gm);
  expect(printed.trimEnd()).toBe(source);
});

test("the section on the page is the source of its first lines", () => {
  const file = readFileSync(join(ROOT, "packages/core/src/scripts/decide.lua"), "utf8");
  const [, single] = /^--- @section single\n([\s\S]*?)\n--- @section /m.exec(file) ?? [];
  expect(luaUnder("The parts").join("")).toBe(single);
});

test("the tables list all directives and sections", () => {
  const used = (pattern: RegExp, parts: readonly string[]) =>
    [
      ...new Set(parts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name))),
    ].sort();
  const algorithms = partsIn("algorithms", /^(?!limit|blocks|thresholds).*\.lua$/);
  const parts = [...partsIn("scripts"), ...algorithms];
  const directives = tableUnder("The parts").map(([name = ""]) => /@(\w+)/.exec(name)?.[1]);
  expect(directives.sort()).toEqual(used(/^ *--- @(\w+)/gm, parts));
  const sections = tableUnder("The parts", 2).flatMap(([name = ""]) => codeIn(name));
  const shared = ["allows", "charge", "overcharge", "refund"];
  expect(sections.sort()).toEqual(
    [...new Set([...shared, ...used(/^--- @section ([\w-]+)/gm, algorithms)])].sort(),
  );
});

test("the script argument has the documented layout", () => {
  const limits = countedBy(gcra({ limit, window }));
  const argumentFor = (cost: number) => {
    const counter = { key: "", keyspace: "", ...limits };
    const [digits = ""] = decide.encode(
      [{ cost, mode: "charge", counters: [counter] }],
      composeScript,
      "",
    ).args;
    return Buffer.from(digits);
  };
  const [capacity, generation, cost] = tableUnder("The argument");
  const to = lastOf(capacity?.[0]);
  expect(codeIn(capacity?.[2] ?? "")).toEqual([hex(argumentFor(1).subarray(0, to))]);
  expect(argumentFor(1)).toHaveLength(lastOf(generation?.[0]));
  expect(argumentFor(2)).toHaveLength(lastOf(cost?.[0]));
  expect(section(it, "The argument")).toContain(
    `\`${hex(Buffer.from(encodeDigits(1_000, PARAMETER_DIGITS)))}\``,
  );
});

test("a value in Redis has the documented layout", () => {
  const { limits, width } = shapeFor("gcra");
  let at = 0;
  const laidOut = [...HEADER_FIELDS, ...(limits[0]?.state ?? [])].map(([name, bytes]) => {
    at += bytes;
    return [`${at - bytes + 1} to ${at}`, `\`${name}\``];
  });
  expect(tableUnder("The value").map(([bytes, name]) => [bytes, name])).toEqual(laidOut);
  expect(section(it, "The value")).toContain(`it is ${width} bytes`);
});

test("a block in Redis has the documented layout", () => {
  let at = 0;
  const laidOut = BLOCK_FIELDS.map(([name, bytes]) => {
    at += bytes;
    return [`${at - bytes + 1} to ${at}`, `\`${name}\``];
  });
  expect(tableUnder("The value", 2).map(([bytes, name]) => [bytes, name])).toEqual(laidOut);
  expect(section(it, "The value")).toContain(`is ${BLOCK_BYTES} bytes longer`);
});

test("values have the documented lengths", () => {
  const rows = tableUnder("The value", 1).flatMap(([what = "", bytes]) => {
    const [limits = ""] = what.split(", and ");
    const names = what.startsWith("`gcra`, `tokenBucket`") ? codeIn(what) : [limits];
    return names.map((name) => [name, Number(bytes)]);
  });
  expect(rows.length).toBeGreaterThan(6);
  expect(rows).toEqual(rows.map(([name]) => [name, shapeFor(String(name)).width]));
});

test("scripts have the documented lengths", () => {
  const [table] = tablesOf(section(it, "What a server keeps"));
  const scripts = table?.head.flatMap(codeIn) as ScriptName[];
  expect(scripts).toHaveLength(6);
  const made = table?.rows.map(([what = ""]) => {
    const sources = scripts.map((script) => composeScript(script, [shapeFor(what)]).source);
    return [what, ...sources.map((source) => Buffer.byteLength(source).toLocaleString("en"))];
  });
  expect(table?.rows).toEqual(made);
});

describe("on a server", () => {
  let server: RedisProcess;
  let redis: Redis;
  let store: Store;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.socket);
    store = redisStore(redis);
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  async function numberIn(part: string, name: string): Promise<number> {
    const [, number] =
      new RegExp(`${name}[:=](?:calls=|count=)?(\\d+)`).exec(await redis.info(part)) ?? [];
    return Number(number ?? 0);
  }

  function limiterOf(name: string, most: number) {
    const limits = gcra({ limit: most, window });
    return createLimiter({ name, limits, store, storeTimeout: "10s" });
  }

  test("300 routes of one shape load the documented number of scripts", async () => {
    const routes = Array.from({ length: 300 }, (_, i) => limiterOf(`GET /${i}`, i + 1));
    await Promise.all(routes.map((route) => route.consume("ada")));
    for (const route of routes) await route.consume("grace");
    // Adds the script that reads the control record.
    expect(await numberIn("memory", "number_of_cached_scripts")).toBe(2 + 1);
    expect(section(it, "What a server keeps")).toMatch(/leave\s+two\s+scripts\s+in\s+the\s+server/);
  });

  test("a script that the server has forgotten is sent again, once", async () => {
    const limiter = limiterOf("forgotten", 5);
    await limiter.consume("ada");
    await redis.script("FLUSH");
    await redis.config("RESETSTAT");
    const decision = await limiter.consume("ada");
    expect(decision).toMatchObject({ allowed: true, remaining: 3, degraded: false });
    expect(await numberIn("commandstats", "cmdstat_eval")).toBe(1);
    expect(await numberIn("errorstats", "errorstat_NOSCRIPT")).toBe(1);
  });

  test("a script takes the documented amount of memory", async ({ skip }) => {
    skip(!server.version.startsWith("redis 7.0"), "the page says what Redis 7.0 takes");
    const [, said = ""] = /takes ([\d,]+) bytes of memory/.exec(it.text) ?? [];
    const inScripts = async () =>
      (await numberIn("memory", "used_memory_vm_eval")) +
      (await numberIn("memory", "used_memory_scripts_eval"));
    const before = await inScripts();
    const COUNT = 200;
    for (let i = 0; i < COUNT; i += 1) {
      const { shape } = countedBy(gcra({ limit, window: 60_001 + i }));
      await redis.script("LOAD", composeScript("decide-single", [shape]).source);
    }
    const bytes = ((await inScripts()) - before) / COUNT;

    expect(bytes / Number(said.replaceAll(",", ""))).toBeGreaterThan(0.85);
    expect(bytes / Number(said.replaceAll(",", ""))).toBeLessThan(1.15);
  });
});

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

/** Returns the last byte of a row. */
function lastOf(bytes = ""): number {
  return Number(bytes.split(" to ")[1]);
}
