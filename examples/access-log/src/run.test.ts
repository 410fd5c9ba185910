import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisProcess } from "../../../test/support/redis-process.ts";
import { startRedis } from "../../../test/support/redis-process.ts";
import { Failure } from "./failure.ts";
import type { Report } from "./report.ts";
import { run } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "access-log-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A log of `client second "request"` lines, all in one hour. */
function writeLog(name: string, ...lines: readonly (readonly [string, number, string?])[]): string {
  const path = join(folder, name);
  const texts = lines.map(([client, second, request = "GET / HTTP/1.1"]) => {
    const clock = `06:${String(Math.floor(second / 60)).padStart(2, "0")}:${String(second % 60).padStart(2, "0")}`;
    return `${client} - - [03/Mar/2026:${clock} +0000] "${request}" 200 5`;
  });
  writeFileSync(path, texts.join("\n"));
  return path;
}

class Text extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

async function start(args: readonly string[], signal = new AbortController().signal) {
  const stdout = new Text();
  const stderr = new Text();
  const code = await run(args, { environment: {}, stdout, stderr, signal });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

async function report(...args: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await start([...args, "--json"]);
  expect([code, stderr.replace(/^(line|and) .*\n/gm, "")]).toEqual([0, ""]);
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) as string);
}

const ONE_A_MINUTE = '{"algorithm":"fixedWindow","limit":1,"window":"1m"}';

describe.each(["fastify", "express"])("behind %s", (framework) => {
  test("a client is its address, its IPv6 network or its host name", async () => {
    const log = writeLog(
      "clients.log",
      ["192.0.2.1", 0],
      ["::ffff:192.0.2.1", 1],
      ["2001:db8:0:1::a", 2],
      ["2001:DB8:0:1:ffff::b", 3],
      ["2001:db8:0:2::a", 4],
      ["gateway.office.example", 5],
      ["other.office.example", 6],
      ["gateway.office.example", 7],
      ["127.0.0.1", 8],
      ["::1", 9],
      ["a,192.0.2.9", 10],
      ["192.0.2.9", 11],
    );
    const { requests, admitted, clients, clientsTotal, clientsDenied } = await report(
      ...["--log", log, "--framework", framework, "--limits", ONE_A_MINUTE],
    );
    expect({ requests, admitted, clientsTotal, clientsDenied }).toEqual({
      requests: 12,
      admitted: 9,
      clientsTotal: 11,
      clientsDenied: 3,
    });
    expect(clients).toEqual([
      { client: "2001:DB8:0:1:ffff::b", requests: 1, admitted: 0, denied: 1 },
      { client: "::ffff:192.0.2.1", requests: 1, admitted: 0, denied: 1 },
      { client: "gateway.office.example", requests: 2, admitted: 1, denied: 1 },
    ]);
  });

  test("the log's timestamps are the clock, in their order", async () => {
    const log = writeLog(
      "clients.log",
      ["192.0.2.1", 121],
      ["192.0.2.1", 60],
      ["192.0.2.1", 0],
      ["192.0.2.1", 59],
      ["192.0.2.1", 120],
    );
    const { admitted, denied, from, to } = await report(
      ...["--log", log, "--framework", framework, "--limits", ONE_A_MINUTE],
    );
    expect({ admitted, denied, from, to }).toEqual({
      admitted: 3,
      denied: 2,
      from: "2026-03-03T06:00:00.000Z",
      to: "2026-03-03T06:02:01.000Z",
    });
  });

  test("requests of every method and target count", async () => {
    const requests = [
      ..."ACL CONNECT DELETE GET HEAD LOCK M-SEARCH OPTIONS PATCH POST PROPFIND PURGE PUT QUERY SOURCE TRACE get BREW"
        .split(" ")
        .map((method) => `${method} /a HTTP/1.1`),
      ..."* /%zz /%FF //a http://b.example/%2e%2e?%E4 /a;b=c?d=[e] /ü /?a#b /\\x00 /a/../b /%2F%2F"
        .split(" ")
        .map((target) => `GET ${target} HTTP/1.1`),
      `GET /${"long/".repeat(780)} HTTP/1.1`,
      `GET /${"long".repeat(20_000)} HTTP/1.1`,
      "GET /with a space",
    ];
    const log = writeLog(
      "targets.log",
      ...requests.map((request) => ["192.0.2.1", 0, request] as const),
    );
    const counts = await report(
      ...["--log", log, "--framework", framework, "--limits", ONE_A_MINUTE],
    );
    expect(counts).toMatchObject({ requests: requests.length, admitted: 1, malformed: 0 });
  });

  test("limits per address and for all clients are one decision", async () => {
    const log = writeLog(
      "few.log",
      ["192.0.2.1", 0],
      ["192.0.2.1", 1],
      ["192.0.2.2", 2],
      ["192.0.2.3", 3],
    );
    const perIp = { algorithm: "slidingLog", limit: 1, window: "1m", per: "ip" };
    const perAll = { algorithm: "slidingLog", limit: 2, window: "1m", per: "global" };
    const limits = JSON.stringify([perIp, perAll]);
    const counts = await report(...["--log", log, "--framework", framework, "--limits", limits]);
    // What the address was denied for was not charged to everybody.
    expect(counts).toMatchObject({ admitted: 2, denied: 2, limits: [perIp, perAll] });
    expect(counts.clients.map(({ client }) => client)).toEqual(["192.0.2.1", "192.0.2.3"]);
  });
});

test("malformed lines are counted, and reported with their line numbers", async () => {
  const log = join(folder, "malformed.log");
  const time = "[03/Mar/2026:06:00:00 +0000]";
  writeFileSync(
    log,
    `rotated \u001b[2J\n\n192.0.2.1 - - ${time} "-" 408 -\n192.0.2.1 - - ${time} "GET / HTTP/1.1" 200 5\n`,
  );
  const { code, stdout, stderr } = await start(["--log", log, "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ requests: 1, malformed: 2, clients: [] });
  expect(stderr).toBe(
    "line 1 is skipped, neither the common nor the combined format: rotated ?[2J\n" +
      `line 3 is skipped, no HTTP request: 192.0.2.1 - - ${time} "-" 408 -\n` +
      "skipped 2 of 4 lines\n",
  );
});

test("a log without a single request is an error", async () => {
  const log = join(folder, "garbage.log");
  writeFileSync(log, "no log\n");
  const { code, stdout, stderr } = await start(["--log", log, "--json"]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^start: no requests in .*garbage\.log: 1 malformed line; /);
});

test("the table is readable", async () => {
  const log = writeLog("few.log", ["192.0.2.1", 0], ["192.0.2.1", 1], ["192.0.2.2", 2]);
  const { code, stdout, stderr } = await start([
    ...["--log", log, "--limits", ONE_A_MINUTE, "--html", join(folder, "report.html")],
  ]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/Requests +│ 3 /);
  expect(stdout).toMatch(/Denied +│ 1 \(33\.3 %\), to 1 of 2 clients/);
  expect(stdout).toMatch(/192\.0\.2\.1 +│ +2 │ +1 │ +1 /);
});

test("the HTML report is written, and its path printed", async () => {
  const log = writeLog("few.log", ["192.0.2.1", 0], ["192.0.2.1", 1], ["192.0.2.2", 2]);
  const html = join(folder, "report.html");
  const where = `The report, for a browser: ${html}\n`;
  const args = ["--log", log, "--limits", ONE_A_MINUTE, "--html", html];
  const { stdout } = await start(args);
  expect(stdout.endsWith(`\n\n${where}`)).toBe(true);
  const page = readFileSync(html, "utf8");
  expect(page).toContain("<title>This limit would have denied 1 of 2 clients: 192.0.2.1.</title>");
  expect(page).toMatch(/1 of 3 requests \(33\.3\s%\) would have been denied/);
  rmSync(html);
  const json = await start([...args, "--json"]);
  expect(json.stderr).toBe(where);
  expect(JSON.parse(json.stdout)).toMatchObject({ requests: 3, denied: 1 });
  expect(existsSync(html)).toBe(true);
});

test("a report that cannot be written is an error after the table", async () => {
  const log = writeLog("one.log", ["192.0.2.1", 0]);
  const { code, stdout, stderr } = await start(["--log", log, "--html", folder]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/Requests +│ 1 /);
  expect(stderr).toMatch(/^start: cannot write the report .*EISDIR.*\n$/);
});

test("requests too far out of order to be sorted are reported", async () => {
  const log = writeLog("late.log", ["192.0.2.1", 5], ["192.0.2.1", 500], ["192.0.2.1", 1]);
  const { code, stderr } = await start(["--log", log, "--json"]);
  expect([code, stderr]).toEqual([
    0,
    "requests too far out of order to be sorted, so that denials near them may be wrong: 1\n",
  ]);
});

test("an error that the user can fix is one line on stderr", async () => {
  for (const args of [
    ["--log", join(folder, "none")],
    ["--log", folder],
    ["--limits", "no"],
    ["--framework", "koa"],
    ["--redis", "redis://user:opensesame@127.0.0.1:1"],
    ["--redis", join(folder, "no.sock")],
    ["--redis", "localhost:6379"],
    ["--redis", "http://me:opensesame@a.example"],
  ]) {
    const { code, stdout, stderr } = await start(args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^start: [^\n]+\n$/);
    expect(stderr).not.toContain("opensesame");
  }
});

describe("a run on Redis", () => {
  let server: RedisProcess;
  let client: Redis;
  let url: string;
  const keysLeft = () => client.dbsize();
  const short = writeLog(
    "short.log",
    ...Array.from({ length: 40 }, (_, n) => [`192.0.2.${n}`, n] as const),
  );
  const long = writeLog(
    "long.log",
    ...Array.from({ length: 50_000 }, (_, n) => [`192.0.2.${n % 250}`, n % 3_600] as const),
  );

  beforeAll(async () => {
    server = await startRedis({ port: true });
    client = new Redis(server.port);
    url = `redis://127.0.0.1:${server.port}`;
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  test("leaves no keys behind", async () => {
    const { store, admitted } = await report("--redis", url, "--log", short);
    expect([store, admitted]).toEqual(["redis", 40]);
    expect(await keysLeft()).toBe(0);
  });

  test("leaves no keys behind when interrupted", async () => {
    const interruption = new AbortController();
    const running = start(["--redis", url, "--log", long, "--json"], interruption.signal);
    while ((await keysLeft()) === 0) await new Promise(setImmediate);
    interruption.abort(new Failure("interrupted", 130));
    expect(await running).toEqual({ code: 130, stdout: "", stderr: "start: interrupted\n" });
    expect(await keysLeft()).toBe(0);
  });

  test("keeps other keys", async () => {
    await client.set("hg-start-someone-else", "1");
    await report("--redis", url, "--log", short);
    expect(await client.keys("*")).toEqual(["hg-start-someone-else"]);
    await client.flushall();
  });

  test("never prints a password, right or wrong", async () => {
    await client.config("SET", "requirepass", "opensesame");
    const wrong = await start(["--redis", url.replace("//", "//:abracadabra@"), "--json"]);
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toMatch(/^start: cannot use Redis at 127\.0\.0\.1:\d+: .*password.*\n$/);
    expect(wrong.stderr).not.toContain("abracadabra");
    const right = await start([
      "--redis",
      url.replace("//", "//:opensesame@"),
      "--log",
      short,
      "--json",
    ]);
    expect([right.code, right.stdout + right.stderr]).toEqual([
      0,
      expect.not.stringContaining("opensesame"),
    ]);
  });

  test("ends when Redis ends, and reports the keys left behind", async () => {
    await client.config("SET", "requirepass", "");
    const running = start(["--redis", url, "--log", long, "--json"]);
    while ((await keysLeft()) === 0) await new Promise(setImmediate);
    await server.stop();
    const { code, stdout, stderr } = await running;
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^start: the keys hg-replay-\w+:\* could not be deleted .*\nstart: Redis stopped answering, .*\n$/,
    );
  });
});
