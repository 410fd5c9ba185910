import { DEFAULT_LIMITS } from "@headgate/replay";
import { expect, test } from "vitest";
import { Failure } from "./failure.ts";
import { readSettings, SAMPLE_LOG } from "./settings.ts";

function read(args: readonly string[], environment: Record<string, string> = {}) {
  return readSettings(args, environment, () => {});
}

/** What a command line is refused with: in itself with exit code 2, for what an option says as the replay says it. */
function complaint(args: readonly string[], environment: Record<string, string> = {}): string {
  try {
    read(args, environment);
  } catch (error) {
    const { message } = error as Error;
    return error instanceof Failure ? `${error.exitCode} ${message}` : message;
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
    html: "headgate-report.html",
  });
  expect(DEFAULT_LIMITS).toHaveLength(2);
});

test("a stray -- is ignored", () => {
  expect(read(["--", "--framework", "express", "--", "--json"])).toMatchObject({
    framework: "express",
    json: true,
  });
});

test("--redis takes precedence over REDIS_URL, and an empty URL counts as none", () => {
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
  ["--limits must be JSON", ["--limits", "{"]],
  ["--limits: limits must hold at least one limit", ["--limits", "[]"]],
  ["--limits: a limit must be a plain object", ["--limits", "7"]],
  [
    "--limits: gcra: limit must be a whole number",
    ["--limits", '{"algorithm":"gcra","limit":-1,"window":"1m"}'],
  ],
  [
    '--limits: gcra: unknown option "max"',
    ["--limits", '{"algorithm":"gcra","limit":1,"window":1,"max":1}'],
  ],
  [
    "--limits: per must be",
    ["--limits", '{"algorithm":"gcra","limit":1,"window":"1m","per":"tenant"}'],
  ],
  ['--framework must be fastify or express, got "koa"', ["--framework", "koa"]],
  ["2 unknown option '--frame'", ["--frame", "koa"]],
  ["2 option '--log <file>' argument missing", ["--log"]],
  ["2 too many arguments", ["access.log"]],
])("%s", (line, args) => {
  const printed = complaint(args);
  expect(printed).toContain(line);
  expect(printed).not.toContain("\n");
});

test("--html names the path of the HTML report", () => {
  expect(read(["--html", "a.html"])?.html).toBe("a.html");
  expect(read(["--json", "--html", "a.html"])?.html).toBe("a.html");
  expect(read(["--json"])?.html).toBeUndefined();
});

test("--help prints the help and runs nothing", () => {
  let printed = "";
  const settings = readSettings(["--help"], {}, (text) => {
    printed += text;
  });
  expect(settings).toBeUndefined();
  expect(printed).toContain("--framework");
});
