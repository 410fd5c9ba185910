import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Log, LogEntry } from "./log-entry.ts";
import type { ReadLogOptions } from "./read-log.ts";
import { mergeRequests, readLog } from "./read-log.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-requests-"));
});
afterAll(() => rm(folder, { recursive: true }));

function line(second: string, path: string, client = "192.0.2.1"): string {
  return `${client} - - [03/Mar/2026:06:00:${second} +0000] "GET ${path} HTTP/1.1" 200 5`;
}

async function write(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** The options of a test: `stdin` is what `-` stands for. */
type Options = ReadLogOptions & { readonly stdin?: Readable };

async function read(log: Log, options: Options = {}) {
  const { stdin = new PassThrough(), ...rest } = options;
  const files = Array.isArray(log) ? log.map((one) => (one === "-" ? stdin : one)) : log;
  const reading = readLog(files, rest);
  const requests: LogEntry[] = [];
  for await (const some of reading) requests.push(...some);
  return { requests, paths: requests.map(({ path }) => path).join(""), ...reading.counts() };
}

async function readText(text: string | Buffer, options?: Options) {
  return read([await write("log", text)], options);
}

test("requests are sorted by time, and equal times keep the order of the file", async () => {
  const lines = [
    line("05", "/c"),
    line("03", "/a"),
    line("05", "/d"),
    line("04", "/b"),
    line("05", "/e"),
  ];
  const { paths, reordered, late } = await readText(lines.join("\n"));
  expect([paths, reordered, late]).toEqual(["/a/b/c/d/e", 2, 0]);
});

test("times with different time zones are compared", async () => {
  const later = line("00", "/later").replace("+0000", "-0001");
  expect((await readText([later, line("30", "/earlier")].join("\n"))).paths).toBe("/earlier/later");
});

test("a byte order mark is not part of the first client, compressed or not", async () => {
  const log = Buffer.from(`\ufeff${line("00", "/a")}\n${line("01", "/b")}\n`);
  for (const bytes of [log, gzipSync(log)]) {
    const { requests, malformed } = await readText(bytes);
    expect([malformed, requests.map(({ client }) => client)]).toEqual([
      0,
      ["192.0.2.1", "192.0.2.1"],
    ]);
  }
});

test("malformed lines are counted, and the first ones are kept with their line numbers", async () => {
  const bad = Array.from({ length: 7 }, (_, n) => `bad ${n}`);
  const log = await readText(`${line("00", "/a")}\r\n\r\n${bad.join("\n")}\n${line("01", "/b")}\n`);
  expect(log).toMatchObject({ paths: "/a/b", lines: 10, malformed: 7 });
  expect(log.examples.map(({ number, text, reason }) => `${number} ${text} ${reason}`)).toEqual(
    [3, 4, 5, 6, 7].map((n) => `${n} bad ${n - 3} neither the common nor the combined format`),
  );
});

test("lines longer than a chunk are complete", async () => {
  const agents = Array.from(
    { length: 9 },
    (_, n) => `${line(`0${n}`, `/${n}`)} "-" "${"x".repeat(300_000)}é"`,
  );
  expect(await readText(agents.join("\n"))).toMatchObject({
    paths: "/0/1/2/3/4/5/6/7/8",
    lines: 9,
    malformed: 0,
  });
});

test("a log may arrive byte by byte", async () => {
  const text = `${line("00", "/a")}\n${line("01", "/ü")}\n\n${line("02", "/c")}`;
  for (const bytes of [Buffer.from(text), gzipSync(text)]) {
    const stdin = Readable.from([...bytes].map((byte) => Buffer.of(byte)));
    expect(await read(["-"], { stdin })).toMatchObject({ paths: "/a/ü/c", lines: 4, malformed: 0 });
  }
});

test("gzip is decompressed, whatever the name of the file, also with several members", async () => {
  const parts = [gzipSync(`${line("00", "/a")}\n`), gzipSync(line("01", "/b"))];
  expect((await readText(Buffer.concat(parts))).paths).toBe("/a/b");
});

test("several files are merged, and equal times keep the order of the files", async () => {
  const files = [
    await write("new", [line("02", "/d"), line("05", "/g"), line("05", "/h")].join("\n")),
    await write("empty", ""),
    await write(
      "old.gz",
      gzipSync([line("01", "/b"), line("00", "/a"), line("05", "/i")].join("\n")),
    ),
  ];
  const stdin = Readable.from([`${line("01", "/c")}\n${line("04", "/e")}\n`, line("04", "/f")]);
  expect(await read([...files, "-"], { stdin })).toMatchObject({
    paths: "/a/b/c/d/e/f/g/h/i",
    lines: 9,
    reordered: 1,
  });
});

test("JSON lines are read by field names", async () => {
  const lines = [
    { ts: "2026-03-03T06:00:01.5Z", ip: "192.0.2.1", uri: "/b" },
    { ts: "2026-03-03T06:00:01.25Z", ip: "192.0.2.2", uri: "/a" },
    { ts: "soon" },
  ];
  const text = lines.map((record) => JSON.stringify(record)).join("\n");
  const log = await readText(text, { fields: { time: "ts", client: "ip", path: "uri" } });
  expect(log).toMatchObject({ paths: "/a/b", malformed: 1, reordered: 1 });
  await expect(readText(text)).rejects.toThrow(
    /^fields must name the fields of the log .* in JSON lines, as in time=/,
  );
});

test("JSON in a common log is skipped, and the other way round", async () => {
  const json = JSON.stringify({ ts: "2026-03-03T06:00:01Z", ip: "192.0.2.1" });
  const mixed = `${json}\n${line("00", "/a")}\n${json}`;
  expect(await readText(mixed)).toMatchObject({
    paths: "/a",
    malformed: 2,
    examples: [{ number: 1, reason: "JSON in a log of another format" }, { number: 3 }],
  });
  const fields = { time: "ts", client: "ip" };
  expect(await readText(mixed, { fields })).toMatchObject({
    requests: [{ client: "192.0.2.1" }, { client: "192.0.2.1" }],
    malformed: 1,
    examples: [{ number: 2, reason: "no JSON object" }],
  });
});

test("a log in JSON lines without fields fails early, even if it never ends", async () => {
  const stdin = new PassThrough();
  stdin.write('{"ts":1}\n'.repeat(200));
  await expect(read(["-"], { stdin })).rejects.toThrow(
    /^fields must name the fields of the log .* in JSON lines, as in time=/,
  );
});

test.each([1_048_577, 3_000_000])(
  "a line of %d bytes is skipped, and the lines around it are read",
  async (length) => {
    const text = `${line("00", "/a")}\n${"\0".repeat(length)}\n${line("01", "/b")}`;
    const log = await readText(text);
    expect(log).toMatchObject({ paths: "/a/b", lines: 3, malformed: 1 });
    expect(log.examples).toMatchObject([
      { number: 2, text: "\0".repeat(400), reason: "longer than 1 MiB" },
    ]);
    expect(await readText("x".repeat(length))).toMatchObject({ lines: 1, malformed: 1 });
  },
);

test("an empty file is a log without requests", async () => {
  expect(await readText("")).toMatchObject({ requests: [], lines: 0, malformed: 0, examples: [] });
});

test("onBytes reports the bytes read, before decompression", async () => {
  const packed = gzipSync(line("00", "/a"));
  const file = await write("packed", packed);
  let bytes = 0;
  await read([file, file], { onBytes: (count) => (bytes += count) });
  expect(bytes).toBe(2 * packed.length);
});

describe("an unreadable log is an error of one line", () => {
  test.each([
    ["a file that is not there", () => join(folder, "none"), /cannot read the log .*none: ENOENT/],
    ["a folder", () => folder, /cannot read the log .*EISDIR/],
    [
      "gzip that is cut off",
      () => write("cut", gzipSync(line("00", "/a")).subarray(0, 40)),
      /cannot read the log .*cut: unexpected end of file; .* zcat FILE/,
    ],
  ])("%s", async (_, make, message) => {
    const file = await make();
    const failure = await read([file]).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "HEADGATE_LOG_UNREADABLE",
      message: expect.stringMatching(message),
    });
  });
});

test("an interruption ends an endless log", async () => {
  const interruption = new AbortController();
  const stdin = new PassThrough();
  stdin.write(`${line("00", "/a")}\n`);
  const reading = read(["-"], { stdin, signal: interruption.signal });
  const reason = new Error("interrupted");
  setImmediate(() => interruption.abort(reason));
  await expect(reading).rejects.toBe(reason);
  expect(stdin.destroyed).toBe(true);
});

const SHARED = new URL("../../../../../shared/data/access.log", import.meta.url);

test("a real log is sorted", async ({ skip }) => {
  skip(!existsSync(SHARED), `there is no ${SHARED.pathname}`);
  const { requests, malformed, late } = await readText(readFileSync(SHARED));
  expect([requests.length, malformed, late]).toEqual([9_999, 1, 0]);
  for (const [i, { time }] of requests.slice(1).entries()) {
    expect(time).toBeGreaterThanOrEqual(requests[i]?.time ?? Number.NaN);
  }
});

const requestOf = (client: string) => (time: number) =>
  ({ time, client, method: "", path: "" }) satisfies LogEntry;

async function* logOf(client: string, ...times: readonly number[]) {
  yield times.map(requestOf(client));
}

test("merged logs are in the order of their times, and equal times in the order of the logs", async () => {
  const merged: string[] = [];
  for await (const requests of mergeRequests([logOf("a", 5, 7), logOf("b", 3, 5, 7)])) {
    merged.push(...requests.map(({ client, time }) => `${client}${time}`));
  }
  expect(merged).toEqual(["b3", "a5", "b5", "a7", "b7"]);
});

describe("entries", () => {
  const entries: readonly LogEntry[] = [
    { time: 3_000, client: "192.0.2.1" },
    { time: 1_000, client: "192.0.2.2" },
  ];
  const sorted = [entries[1], entries[0]];

  test("are sorted by time, from a list, a generator or an async generator", async () => {
    const logs = [entries, new Set(entries), asyncOf(entries)];
    for (const log of logs) {
      expect(await read(log)).toMatchObject({
        requests: sorted,
        files: [],
        lines: 2,
        reordered: 1,
      });
    }
  });

  test("may be lines of text, of which malformed ones are counted", async () => {
    const log = asyncOf([line("01", "/b"), "noise", line("00", "/a")]);
    expect(await read(log)).toMatchObject({ paths: "/a/b", lines: 3, malformed: 1 });
  });

  test.each([
    [{ time: "now", client: "a" }, "entry 1 of the log: time must be milliseconds since the epoch"],
    [{ time: -1, client: "a" }, "from 1970 to 2199, got -1"],
    [{ time: 0, client: "" }, 'client must be a text of 1 to 255 characters, got ""'],
    [null, "got undefined"],
  ])("that are none are errors: %j", async (entry, message) => {
    const failure = read(asyncOf([entry as LogEntry]));
    await expect(failure).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining(message),
    });
  });
});

async function* asyncOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

test.each([
  [7, {}, "log must be a path"],
  ["none", { fields: { time: "ts" } }, "fields must name the fields with the time and the client"],
  ["none", { fields: { time: "ts", client: "ip", referrer: "a" } }, "fields must name the fields"],
])("the log %j with the options %j is rejected", (log, options, message) => {
  expect(() => readLog(log as Log, options as ReadLogOptions)).toThrow(message);
});
