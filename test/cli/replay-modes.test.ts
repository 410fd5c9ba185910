import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CommandError } from "../../packages/cli/src/command/command-error.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { runCli } from "./run-cli.ts";

// A replay behind a real server, in Redis, or both, comes to what it comes to in the library.

const own = useOwnRedis();
const folder = mkdtempSync(join(tmpdir(), "replay-modes-"));
afterAll(() => rmSync(folder, { recursive: true }));

const ROOT = join(import.meta.dirname, "../..");
const SAMPLE = join(ROOT, "examples/access-log/sample.log");

const limitsOf = (...policies: readonly object[]): string[] =>
  policies.flatMap((policy) => ["--limits", JSON.stringify(policy)]);

const POLICIES = limitsOf(
  [
    { algorithm: "gcra", limit: 31, window: "1m" },
    { algorithm: "slidingLog", limit: 100, window: "1h", per: "ip" },
  ],
  [
    { algorithm: "fixedWindow", limit: 20, window: "1m", block: "10m" },
    { algorithm: "gcra", limit: 70, window: "9m", burst: 60, per: "global" },
  ],
);

/** A log in which each client sends one request a second. */
function writeLog(name: string, requests: number, clients: number): string {
  const path = join(folder, name);
  const lines = Array.from({ length: requests }, (_, i) => {
    const second = new Date(Math.floor(i / clients) * 1_000).toISOString().slice(11, 19);
    return `10.0.${(i % clients) >> 8}.${(i % clients) & 255} - - [03/Mar/2026:${second} +0000] "GET / HTTP/1.1" 200 5`;
  });
  writeFileSync(path, lines.join("\n"));
  return path;
}

async function replay(...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await runCli(["replay", ...args, "--json"]);
  expect([
    exitCode,
    stderr.replace(/^headgate: (.* line \d+ skipped, |skipped ).*\n/gm, ""),
  ]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

describe("a replay decides the same as in the library", () => {
  let expected: Awaited<ReturnType<typeof replay>>;
  beforeAll(async () => {
    expected = await replay(SAMPLE, ...POLICIES);
  });

  test.each([
    ["express", false],
    ["fastify", true],
    ["no server", true],
    // Each of the two is proven above, beside something else.
    ...(process.env["HEADGATE_LONG"] === "1" ? ([["fastify", false]] as const) : []),
  ] as const)("behind %s, in Redis: %s", async (framework, isInRedis) => {
    const http = framework === "no server" ? [] : ["--http", framework];
    const redis = isInRedis ? ["--redis", own.server.socket] : [];
    const { policies } = expected;
    expect(policies.map(({ denied }: { denied: number }) => denied > 50)).toEqual([true, true]);
    // With all waits to the millisecond, all clients and all timelines.
    expect(await replay(SAMPLE, ...POLICIES, ...http, ...redis)).toEqual(expected);
    expect(await own.client.dbsize()).toBe(0);
  });
});

test("a replay behind a server has the same clients: address, IPv6 network or host name", async () => {
  const clients =
    "192.0.2.1 ::ffff:192.0.2.1 192.0.2.1:5060 2001:db8:0:1::a 2001:DB8:0:1:ffff::b 127.0.0.1 ::1 a,192.0.2.9 192.0.2.9 gateway.example ~a/b";
  const path = join(folder, "clients.log");
  const lines = `${clients} ${clients}`
    .split(" ")
    .map((client) => `${client} - - [03/Mar/2026:06:00:00 +0000] "BREW *zz HTTP/1.1" 200 5`)
    .map((line) => line.replace("*zz", "/%zz\u00fc"));
  writeFileSync(path, lines.join("\n"));
  const limits = limitsOf({ algorithm: "fixedWindow", limit: 1, window: "1m", per: "ip" });
  const expected = await replay(path, ...limits);
  expect(expected.policies[0]).toMatchObject({ allowed: 8, denied: 14 });
  for (const framework of ["fastify", "express"]) {
    expect(await replay(path, ...limits, "--http", framework)).toEqual(expected);
  }
});

describe.each([[[]], [["--http", "fastify"]]])("headgate replay in Redis %j", (http) => {
  const log = writeLog("long.log", 30_000, 1_000);
  const args = ["replay", log, ...http, "--redis"];

  test("leaves no keys behind if it is interrupted", async () => {
    await own.client.set("hg-replay-of-another", "1");
    const interruption = new AbortController();
    const ended = runCli([...args, own.server.socket], { signal: interruption.signal });
    await expect.poll(() => own.client.dbsize(), { interval: 1 }).toBeGreaterThan(1);
    interruption.abort(new CommandError("interrupted", 130));
    expect(await ended).toEqual({ exitCode: 130, stdout: "", stderr: "headgate: interrupted\n" });
    expect(await own.client.keys("*")).toEqual(["hg-replay-of-another"]);
  });

  test("ends if the connection is lost, and names the keys that it leaves behind", async () => {
    const ended = runCli([...args, own.server.socket]);
    await expect.poll(() => own.client.dbsize(), { interval: 1 }).toBeGreaterThan(0);
    await own.client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    const { exitCode, stdout, stderr } = await ended;
    expect([exitCode, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(
      /^headgate: the keys hg-replay-\w+:\* could not be deleted from Redis at \/.*, but expire by themselves: .*\nheadgate: Redis stopped answering, .*\n$/,
    );
  });
});

test.each([
  [["--http", "koa"], '--http must be fastify or express, got "koa"'],
  [["--cluster"], "with --redis or --redis-file"],
  [["--redis", "localhost:6379"], "--redis is not a Redis URL"],
  [["--redis", "/run/r", "--prefix", "a".repeat(17)], "--prefix of at most 16 characters"],
])("headgate replay %j is an error of one line that says what to do", async (args, words) => {
  const { exitCode, stdout, stderr } = await runCli(["replay", SAMPLE, ...args]);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^headgate: [^\n]+\n$/);
  expect(stderr).toContain(words);
});

test("headgate replay does not use Redis if only $REDIS_URL is set", async () => {
  const environment = { REDIS_URL: "redis://127.0.0.1:1" };
  const { exitCode } = await runCli(["replay", SAMPLE], { environment });
  expect(exitCode).toBe(0);
});

/** As if a package were not installed. */
const WITHOUT_FASTIFY = `data:text/javascript,${encodeURIComponent(`
  import Module from "node:module";
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (specifier, ...rest) => {
    if (specifier !== "fastify") return resolve(specifier, ...rest);
    throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
  };
`)}`;

test("headgate replay --http prints the command that installs a missing framework", async () => {
  const headgate = join(ROOT, "packages/cli/dist/esm/headgate.js");
  const args = ["--import", WITHOUT_FASTIFY, headgate, "replay", SAMPLE, "--http", "fastify"];
  const stderr = await new Promise((resolve) => {
    execFile(process.execPath, args, (error, _stdout, text) => resolve([error?.code, text]));
  });
  expect(stderr).toEqual([
    2,
    "headgate: a replay behind fastify needs two more packages: npm install fastify @headgate/fastify\n",
  ]);
});
