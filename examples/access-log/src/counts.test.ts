import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, test } from "vitest";
import { run } from "./run.ts";

// The counts as plain arithmetic has them: read with another parser, decided without Headgate, sent nowhere.

const SAMPLE = fileURLToPath(new URL("../sample.log", import.meta.url));
const SHARED = fileURLToPath(new URL("../../../../shared/data/access.log", import.meta.url));

/** The default limits: 30 a minute, all of them at once or one every 2 s; 100 in any hour. */
const INTERVAL_MS = 2_000;
const BURST = 30;
const PER_HOUR = 100;
const HOUR_MS = 3_600_000;

interface Counts {
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  readonly malformed: number;
  readonly deniedOf: Readonly<Record<string, number>>;
}

function expectedCounts(path: string): Counts {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  const read = lines.map(readLine).filter((request) => request !== undefined);
  const inOrder = read.map((request, place) => ({ ...request, place }));
  inOrder.sort((a, b) => a.time - b.time || a.place - b.place);

  const fullAt = new Map<string, number>();
  const admittedAt = new Map<string, number[]>();
  const deniedOf: Record<string, number> = {};
  let denied = 0;
  for (const { client, time } of inOrder) {
    const subject = isIPv6(client) ? networkOf(client) : client;
    // How long it takes until nothing of the burst is used.
    const debt = Math.max(0, (fullAt.get(subject) ?? 0) - time);
    const lastHour = (admittedAt.get(subject) ?? []).filter((at) => at > time - HOUR_MS);
    if (debt + INTERVAL_MS <= BURST * INTERVAL_MS && lastHour.length < PER_HOUR) {
      fullAt.set(subject, time + debt + INTERVAL_MS);
      admittedAt.set(subject, [...lastHour, time]);
    } else {
      denied += 1;
      deniedOf[client] = (deniedOf[client] ?? 0) + 1;
    }
  }
  const requests = read.length;
  return {
    requests,
    admitted: requests - denied,
    denied,
    malformed: lines.length - requests,
    deniedOf,
  };
}

function readLine(line: string): { client: string; time: number } | undefined {
  const parts = line.split('"');
  const [head = "", request = ""] = parts;
  const isWhole = parts.length === 3 || line.endsWith('"');
  if (!isWhole || !/^[A-Z]+ \S/.test(request)) return undefined;
  const [client = "", , , at = "", zone = ""] = head.split(/ \[?|\]/);
  return { client, time: Date.parse(`${at.replaceAll("/", " ").replace(":", " ")} ${zone}`) };
}

/** The first 64 bits, as numbers. */
function networkOf(address: string): string {
  const [left = "", right] = address.split("::").map((side) => side.split(":").filter(Boolean)) as [
    string[],
    string[]?,
  ] as never as [string[], string[]?];
  const zeros = right === undefined ? 0 : 8 - left.length - right.length;
  const parts = [...left, ...Array(zeros).fill("0"), ...(right ?? [])];
  return parts
    .slice(0, 4)
    .map((part) => Number.parseInt(part, 16))
    .join(":");
}

async function countsOf(...args: readonly string[]): Promise<Counts> {
  const stdout = new PassThrough();
  const { signal } = new AbortController();
  const code = await run([...args, "--json"], {
    environment: {},
    stdout,
    stderr: new PassThrough().resume(),
    signal,
  });
  expect(code).toBe(0);
  stdout.end();
  const { requests, admitted, denied, malformed, clients } = JSON.parse(await text(stdout));
  const deniedOf = Object.fromEntries(
    clients.map(({ client, denied }: { client: string; denied: number }) => [client, denied]),
  );
  return { requests, admitted, denied, malformed, deniedOf };
}

type Way = readonly [store: "memory" | "Redis", framework: "fastify" | "express"];

/** Each store and each framework, once. */
const WAYS: readonly Way[] = [
  ["memory", "express"],
  ["Redis", "fastify"],
];

const isLong = process.env["HEADGATE_LONG"] === "1";
const OTHER_WAYS: readonly Way[] = [
  ["memory", "fastify"],
  ["Redis", "express"],
];

function argumentsOf([store, framework]: Way): string[] {
  const redis = store === "Redis" ? ["--redis", inject("redisSocket")] : [];
  return ["--framework", framework, ...redis];
}

describe("the sample log", () => {
  const expected = expectedCounts(SAMPLE);

  test("contains a few malformed lines and some denials, most of them of the scraper", () => {
    const { requests, denied, malformed, deniedOf } = expected;
    expect(requests).toBeGreaterThan(1_500);
    expect(malformed).toBe(4);
    expect(denied / requests).toBeGreaterThan(0.02);
    expect(denied / requests).toBeLessThan(0.1);
    expect(deniedOf["203.0.113.250"]).toBeGreaterThan(denied / 2);
  });

  test.each(isLong ? [...WAYS, ...OTHER_WAYS] : WAYS)("in %s, behind %s", async (...way) => {
    expect(await countsOf(...argumentsOf(way))).toEqual(expected);
  });
});

describe("a real log of ten thousand lines, half of them out of order", () => {
  const missing = existsSync(SHARED) ? "" : `there is no ${SHARED}`;
  // Ten thousand requests take a while. That lines may come out of order is proven of the command, whose replay this is.
  const why = isLong ? missing : "HEADGATE_LONG=1 replays it";

  test.for(OTHER_WAYS)("in %s, behind %s", async (way, { skip }) => {
    skip(why !== "", why);
    expect(await countsOf("--log", SHARED, ...argumentsOf(way))).toEqual(expectedCounts(SHARED));
  });
});
