import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAccessLog } from "./access-log.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "access-log-"));
});
afterAll(() => rm(folder, { recursive: true }));

function line(second: string, path: string): string {
  return `192.0.2.1 - - [03/Mar/2026:06:00:${second} +0000] "GET ${path} HTTP/1.1" 200 5`;
}

async function read(text: string) {
  const path = join(folder, "log");
  await writeFile(path, text);
  return readAccessLog(path);
}

test("requests come in the order of their times, equal times in the order of the file", async () => {
  const lines = [
    line("05", "/c"),
    line("03", "/a"),
    line("05", "/d"),
    line("04", "/b"),
    line("05", "/e"),
  ];
  const { entries } = await read(lines.join("\n"));
  expect(entries.map(({ path }) => path)).toEqual(["/a", "/b", "/c", "/d", "/e"]);
});

test("a time zone is part of the time", async () => {
  const later = line("00", "/later").replace("+0000", "-0100");
  const { entries } = await read([later, line("30", "/earlier")].join("\n"));
  expect(entries.map(({ path }) => path)).toEqual(["/earlier", "/later"]);
});

test("malformed lines are counted, and the first ones kept with their numbers", async () => {
  const bad = Array.from({ length: 7 }, (_, n) => `bad ${n}`);
  const log = await read(`${line("00", "/a")}\r\n\r\n${bad.join("\n")}\n${line("01", "/b")}\n`);
  expect(log.entries).toHaveLength(2);
  expect(log.malformed).toBe(7);
  expect(log.examples.map(({ number, text }) => `${number} ${text}`)).toEqual([
    "3 bad 0",
    "4 bad 1",
    "5 bad 2",
    "6 bad 3",
    "7 bad 4",
  ]);
});

test("lines longer than what is read at once are whole", async () => {
  const agents = Array.from(
    { length: 9 },
    (_, n) => `${line(`0${n}`, `/${n}`)} "-" "${"x".repeat(50_000)}é"`,
  );
  const { entries, malformed } = await read(agents.join("\n"));
  expect([entries.length, malformed]).toEqual([9, 0]);
});

test("an empty file is a log without requests", async () => {
  expect(await read("")).toEqual({ entries: [], clients: 0, malformed: 0, examples: [] });
});

test("a file that cannot be read is reported by its path", async () => {
  await expect(readAccessLog(join(folder, "none"))).rejects.toThrow(
    /cannot read the log .*none: ENOENT/,
  );
  await expect(readAccessLog(folder)).rejects.toThrow(/cannot read the log .*EISDIR/);
  await expect(read("x".repeat(2_000_000))).rejects.toThrow(/longer than 1 MiB/);
});
