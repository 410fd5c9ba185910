import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import type { ReplayResult } from "@headgate/replay";
import { escapeHidden } from "@headgate/replay/internal";
import { afterAll, describe, expect, test } from "vitest";
import { run } from "../../packages/cli/src/run.ts";
import { expectDocument } from "./json-schema.ts";

const folder = mkdtempSync(join(tmpdir(), "replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SAMPLE = "examples/access-log/sample.log";
const START = Date.UTC(2026, 2, 3, 6);
const HOUR = 3_600_000;

interface Asked {
  readonly client: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

function line({ client, time }: Asked): string {
  const [, day, month, year, clock] = new Date(time).toUTCString().split(" ");
  return `${client} - - [${day}/${month}/${year}:${clock} +0000] "GET / HTTP/1.1" 200 5`;
}

function write(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function start(
  args: readonly string[],
  stdin: Readable = new PassThrough(),
  command = "replay",
) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const { signal } = new AbortController();
  const code = await run([command, ...args], { environment: {}, stdin, stdout, stderr, signal });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

async function replay(args: readonly string[], stdin?: Readable): Promise<ReplayResult> {
  const { code, stdout } = await start([...args, "--json"], stdin);
  expect(code).toBe(0);
  return expectDocument("replay", stdout) as ReplayResult;
}

/** Requests of a few busy clients and many others, up to 60 s out of order, from a seed. */
function makeRequests(count: number): Asked[] {
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
  return Array.from({ length: count }, (_, i) => {
    const number = Math.floor(random() < 0.3 ? random() ** 3 * 50 : random() * 20_000);
    const second = Math.floor(60 + (i / count) * 7_200 - random() * 60);
    return { client: `10.0.${number >> 8}.${number & 255}`, time: START + second * 1_000 };
  });
}

/** What a log of each client's admitted requests denies: never more than `limit` in any hour. */
function denialsIn(requests: readonly Asked[], limit: number, window: number): Map<string, number> {
  const admitted = new Map<string, number[]>();
  const denied = new Map<string, number>();
  for (const { client, time } of [...requests].sort((a, b) => a.time - b.time)) {
    const times = (admitted.get(client) ?? []).filter((at) => at > time - window);
    if (times.length < limit) times.push(time);
    else denied.set(client, (denied.get(client) ?? 0) + 1);
    admitted.set(client, times);
  }
  return denied;
}

/** How many clients have which peak within a window, counted plainly. */
function peaksIn(requests: readonly Asked[], window: number): { peak: number; clients: number }[] {
  const times = new Map<string, number[]>();
  for (const { client, time } of [...requests].sort((a, b) => a.time - b.time)) {
    times.set(client, [...(times.get(client) ?? []), time]);
  }
  const clients = new Map<number, number>();
  for (const all of times.values()) {
    let first = 0;
    let peak = 0;
    for (const [i, at] of all.entries()) {
      while ((all[first] as number) <= at - window) first += 1;
      peak = Math.max(peak, i - first + 1);
    }
    clients.set(peak, (clients.get(peak) ?? 0) + 1);
  }
  return [...clients].sort(([a], [b]) => a - b).map(([peak, count]) => ({ peak, clients: count }));
}

const slidingLog = (limit: number, window: string) =>
  JSON.stringify({ algorithm: "slidingLog", limit, window });

describe("headgate replay of a generated log, out of order", () => {
  const requests = makeRequests(140_000);
  const lines = requests.map(line);
  const log = write("log", lines.join("\n"));

  test("has the counts, clients, timelines and peaks of plain arithmetic", async () => {
    const limits = ["--limits", slidingLog(40, "1h"), "--limits", `small=${slidingLog(5, "1m")}`];
    const result = await replay([log, ...limits]);
    expect(result.log).toMatchObject({ requests: 140_000, malformed: 0, late: 0 });
    expect(result.log.clients).toBe(new Set(requests.map(({ client }) => client)).size);
    expect(result.timeline.reduce((sum, count) => sum + count)).toBe(140_000);
    expect(result.columnMs).toBe(60_000);
    for (const [i, denied] of [
      denialsIn(requests, 40, HOUR),
      denialsIn(requests, 5, 60_000),
    ].entries()) {
      const policy = result.policies[i];
      const all = [...denied.values()].reduce((sum, count) => sum + count, 0);
      expect(policy).toMatchObject({ denied: all, clientsDenied: denied.size, evicted: 0 });
      expect(policy?.allowed).toBe(140_000 - all);
      expect(policy?.timeline.reduce((sum, count) => sum + count)).toBe(all);
      for (const { client, denied: times, timeline } of policy?.clients ?? []) {
        expect([client, times]).toEqual([client, denied.get(client)]);
        if (timeline) expect(timeline.denied.reduce((sum, count) => sum + count)).toBe(times);
      }
      expect(policy?.clients[19]?.timeline).toBeDefined();
      expect(policy?.clients[20]?.timeline).toBeUndefined();
    }
    expect(result.policies.map(({ name }) => name)).toEqual(["40-per-1h", "small"]);
    expect(result.peaks).toEqual([
      { windowMs: 60_000, counts: peaksIn(requests, 60_000), error: 0 },
      { windowMs: HOUR, counts: peaksIn(requests, HOUR), error: 0 },
    ]);
  });

  test("has the same result if the log comes in parts, compressed or from standard input", async () => {
    const parts = [0, 1, 2].map((n) => lines.filter((_, i) => i % 3 === n).join("\n"));
    const files = [write("packed", gzipSync(parts[0] ?? "")), write("plain", parts[1] ?? ""), "-"];
    const limits = ["--limits", slidingLog(40, "1h")];
    const whole = await replay([log, ...limits]);
    const merged = await replay([...files, ...limits], Readable.from([parts[2] ?? ""]));
    expect(merged.policies).toEqual(whole.policies);
    expect(merged.peaks).toEqual(whole.peaks);
  });
});

test("headgate replay prints the denials and the malformed lines of the sample log", async () => {
  const { code, stdout, stderr } = await start([SAMPLE]);
  expect(code).toBe(0);
  expect(stdout).toContain("   3 of 115 (2.6%)   123 of 2,026 (6.1%)   ");
  expect(stdout).toMatch(/^203\.0\.113\.250 +280 +118 +2026-03-03 /m);
  expect(stderr.match(/^headgate: .*sample\.log: line \d+ skipped, .*$/gm)).toHaveLength(4);
  expect(stderr).toContain("headgate: skipped 4 of 2,030 lines\n");
});

test.each([
  ["garbage", "no log\n\0\0\n", /: 2 malformed lines; line 1 skipped, neither .*: no log$/],
  ["an empty file", "", /: it is empty$/],
  ["blank lines", "\r\n \n", /: it is empty$/],
  ["an empty gzip file", gzipSync(""), /: it is empty$/],
])("headgate replay and recommend reject a log without requests: %s", async (_, content, words) => {
  const log = write("nothing.log", content);
  const file = join(folder, "nothing.html");
  for (const command of ["replay", "recommend"]) {
    const { code, stdout, stderr } = await start(
      [log, "--json", "--html", file],
      undefined,
      command,
    );
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^headgate: no requests in .*nothing\.log: [^\n]+\n$/);
    expect(stderr.trimEnd()).toMatch(words);
    expect(existsSync(file)).toBe(false);
  }
});

test("headgate replay reads lines that end in CRLF or LF, and times that go backwards", async () => {
  const times = [0, 60, 30, 400, 1].map((second) => START + second * 1_000);
  const lines = times.map((time) => line({ client: "192.0.2.1", time }));
  const { log } = await replay([write("mixed.log", `${lines.join("\r\n")}\n\0\n`)]);
  expect(log).toMatchObject({ requests: 5, malformed: 1, reordered: 1, late: 1 });
  expect(log.to).toBe(START + 400_000);
});

test("headgate replay escapes the control characters of logs and paths", async () => {
  const hostile = line({ client: "\u009b2J\u202eevil", time: START });
  const log = write(
    "\u001b[2J.log",
    [hostile, hostile, `\u001b]0;noise${"x".repeat(500)}`].join("\n"),
  );
  const { code, stdout, stderr } = await start([log, "--limits", slidingLog(1, "1m")]);
  expect(code).toBe(0);
  expect(stdout).toContain("\\x1b[2J.log");
  expect(stderr).toContain("format: \\x1b]0;noise");
  for (const one of `${stdout}${stderr}`.split("\n")) {
    expect(one).toBe(escapeHidden(one));
    expect(one.length).toBeLessThan(300);
  }
});

describe("headgate replay --html", () => {
  test("writes the report of the replay, and prints its path", async () => {
    const file = join(folder, "report.html");
    const limits = ["--limits", `few=${slidingLog(20, "1m")}`, "--limits", slidingLog(90, "1h")];
    const { code, stderr } = await start([SAMPLE, ...limits, "--html", file]);
    expect(code).toBe(0);
    expect(stderr).toContain(`headgate: wrote the report ${file}\n`);
    const page = readFileSync(file, "utf8");
    for (const text of ["few", "90-per-1h", "sample.log", "203.0.113.250"]) {
      expect(page).toContain(text);
    }
  });

  test("fails before it reads the log if the report cannot be written", async () => {
    const input = new PassThrough().end("noise\n");
    for (const file of [join(folder, "none", "report.html"), folder]) {
      const { code, stdout, stderr } = await start(["-", "--html", file], input);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^headgate: cannot write the report [^\n]+\n$/);
      expect(input.readableDidRead).toBe(false);
    }
  });

  test("does not overwrite a file before the replay has ended", async () => {
    const file = write("before.html", "before");
    expect((await start([join(folder, "no.log"), "--html", file])).code).toBe(2);
    expect(readFileSync(file, "utf8")).toBe("before");
  });
});

test("headgate replay identifies a client by its address, its IPv6 network or its host name", async () => {
  const clients = "192.0.2.1 ::ffff:192.0.2.1 192.0.2.1:5060 2001:db8:0:1::a 2001:DB8:0:1:ffff::b";
  const names = "2001:db8:0:2::a gateway.office.example other.office.example ~a/b";
  const all = `${clients} ${names}`.split(" ");
  const log = write("clients", all.map((client) => line({ client, time: START })).join("\n"));
  const limit = JSON.stringify({ algorithm: "fixedWindow", limit: 1, window: "1m", per: "ip" });
  const { policies, peaks, log: read } = await replay([log, "--limits", limit]);
  expect(read.clients).toBe(9);
  expect(policies[0]?.clients.map(({ client }) => client)).toEqual([
    "192.0.2.1:5060",
    "2001:DB8:0:1:ffff::b",
    "::ffff:192.0.2.1",
  ]);
  expect(peaks[0]?.counts).toEqual([
    { peak: 1, clients: 4 },
    { peak: 2, clients: 1 },
    { peak: 3, clients: 1 },
  ]);
});

test("headgate replay with a limit of 0 denies all requests forever", async () => {
  const file = join(folder, "zero.html");
  const { code, stdout } = await start([SAMPLE, "--limits", slidingLog(0, "1m"), "--html", file]);
  expect(code).toBe(0);
  expect(stdout).toContain("115 of 115 (100%)");
  expect(stdout).toContain("forever");
  expect(readFileSync(file, "utf8")).toContain("would have denied 115 of 115 clients");
});

test("headgate replay names limits after their file, and numbers a repeated name", async () => {
  // As some editors write it, with a byte order mark.
  const file = write("strict.json", `\ufeff${slidingLog(1, "1m")}`);
  const { policies } = await replay([SAMPLE, "--limits", file, "--limits", `strict=@${file}`]);
  expect(policies.map(({ name }) => name)).toEqual(["strict", "strict (2)"]);
  expect(policies[0]?.denied).toBe(policies[1]?.denied);
});

test.each([
  [[join(folder, "none")], "ENOENT"],
  [[], "missing required argument"],
  [[SAMPLE, "--limits", "{"], "--limits must be JSON"],
  [[SAMPLE, "--limits", "nowhere.json"], "or the path of a file"],
  [[SAMPLE, "--limits", "[]"], "--limits: limits must hold at least one limit"],
  [[SAMPLE, "--limits", slidingLog(-1, "1m")], "limit must be a whole number"],
  [[SAMPLE, "--limits", slidingLog(1, "1m").replace("}", ',"per":"tenant"}')], "per must be"],
  [
    [SAMPLE, "--limits", '{"algorithm":"concurrency","limit":1,"ttl":"1m"}'],
    "concurrency is not supported, because a log does not record how long requests took: leave it out",
  ],
  [[SAMPLE, "--fields", "time=ts"], "--fields must name the field with the client"],
  [
    [
      SAMPLE,
      ...Array(9)
        .fill(["--limits", slidingLog(1, "1m")])
        .flat(),
    ],
    "--limits must be 1 to 8 policies, got 9",
  ],
])("headgate replay %j is an error of one line that says what to do", async (args, words) => {
  const { code, stdout, stderr } = await start(args as string[]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^headgate: [^\n]+\n$/);
  expect(stderr).toContain(words);
});
