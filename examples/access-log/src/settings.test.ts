import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "./limits.ts";
import { describeRedis } from "./replay-redis.ts";
import { readSettings, SAMPLE_LOG } from "./settings.ts";

function read(args: readonly string[], environment: Record<string, string> = {}) {
  return readSettings(args, environment, () => {});
}

/** The exit code and the line that a command line ends with. */
function complaint(args: readonly string[], environment: Record<string, string> = {}): string {
  try {
    read(args, environment);
  } catch (error) {
    const { exitCode, message } = error as { exitCode: number; message: string };
    return `${exitCode} ${message}`;
  }
  return "none";
}

test("without arguments: the sample log, two limits, Fastify, in memory", () => {
  expect(read([])).toEqual({
    log: SAMPLE_LOG,
    limits: DEFAULT_LIMITS,
    framework: "fastify",
    redisUrl: undefined,
    json: false,
  });
  expect(DEFAULT_LIMITS).toHaveLength(2);
});

test("a stray -- does no harm, wherever it stands", () => {
  expect(read(["--", "--framework", "express", "--", "--json"])).toMatchObject({
    framework: "express",
    json: true,
  });
});

test("REDIS_URL selects Redis, --redis goes before it, an empty one is none", () => {
  const environment = { REDIS_URL: "redis://a.example" };
  expect(read([], environment)?.redisUrl).toBe("redis://a.example");
  expect(read(["--redis", "redis://b.example"], environment)?.redisUrl).toBe("redis://b.example");
  expect(read([], { REDIS_URL: "" })?.redisUrl).toBeUndefined();
});

test("limits are JSON: one, or a list", () => {
  const one = { algorithm: "fixedWindow", limit: 5, window: "1m" };
  const other = { algorithm: "gcra", limit: 100, window: "1h", per: "global" };
  expect(read(["--limits", JSON.stringify(one)])?.limits).toEqual([one]);
  expect(read(["--limits", JSON.stringify([one, other])])?.limits).toEqual([one, other]);
});

test.each([
  ["1 --limits must be JSON", ["--limits", "{"]],
  ["1 --limits: limits must hold at least one limit", ["--limits", "[]"]],
  ["1 --limits: a limit must be a plain object", ["--limits", "7"]],
  [
    "1 --limits: gcra: limit must be a whole number",
    ["--limits", '{"algorithm":"gcra","limit":0,"window":"1m"}'],
  ],
  [
    '1 --limits: gcra: unknown option "max"',
    ["--limits", '{"algorithm":"gcra","limit":1,"window":1,"max":1}'],
  ],
  [
    "1 --limits: per must be",
    ["--limits", '{"algorithm":"gcra","limit":1,"window":"1m","per":"tenant"}'],
  ],
  ['1 --framework must be fastify or express, got "koa"', ["--framework", "koa"]],
  ["1 --redis (or REDIS_URL) must be a URL", ["--redis", "localhost:6379"]],
  ["2 unknown option '--frame'", ["--frame", "koa"]],
  ["2 option '--log <file>' argument missing", ["--log"]],
  ["2 too many arguments", ["access.log"]],
])("%s", (line, args) => {
  const printed = complaint(args);
  expect(printed).toContain(line);
  expect(printed).not.toContain("\n");
});

test("no complaint shows the password of a Redis URL", () => {
  const secret = "opensesame";
  expect(complaint(["--redis", `http://me:${secret}@a.example`])).not.toContain(secret);
  expect(complaint([], { REDIS_URL: `redis//me:${secret}@a.example` })).not.toContain(secret);
  expect(complaint([`redis://me:${secret}@a.example`])).not.toContain(secret);
  expect(describeRedis(`rediss://me:${secret}@a.example:7000/2?password=${secret}`)).toBe(
    "rediss://a.example:7000/2",
  );
});

test("help is printed on request, and nothing is run", () => {
  let printed = "";
  const settings = readSettings(["--help"], {}, (text) => {
    printed += text;
  });
  expect(settings).toBeUndefined();
  expect(printed).toContain("--framework");
});
