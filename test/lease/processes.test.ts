import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Limit, LimiterOptions } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SCALE } from "../conformance/random/histories.ts";
import { findExcess } from "../conformance/support/admissions.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";

const PROCESSES = 8;
const AT_ONCE = 4;
const MAX = 50;

/** Milliseconds of those tests that find more the longer they last; eight processes leave nothing to other suites. */
const LENGTH_MS = SCALE > 1 ? 3_000 : 1_000;

const script = fileURLToPath(new URL("hammer.mjs", import.meta.url));

let server: RedisProcess;
let client: Redis;
let directory: string;
let ledger: string;
interface Hammer {
  readonly child: ChildProcess;
  /** Resolves when the process was killed, and rejects when it ended by itself. */
  readonly killed: Promise<[Record<string, number>]>;
}

let hammers: Hammer[] = [];

function startHammer(): Hammer {
  const child = fork(script, [server.socket], { execArgv: [] });
  const killed = once(child, "exit").then(([code]): [Record<string, number>] => {
    if (code !== null) throw new Error(`a process ended with code ${code}`);
    return [{}];
  });
  killed.catch(() => {});
  return { child, killed };
}

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.socket);
  directory = mkdtempSync(join(tmpdir(), "headgate-leases-"));
  ledger = join(directory, "ledger");
  hammers = Array.from({ length: PROCESSES }, startHammer);
  await Promise.all(
    hammers.map(({ child, killed }) => Promise.race([once(child, "message"), killed])),
  );
});
afterAll(async () => {
  for (const { child } of hammers) child.kill("SIGKILL");
  await client.quit();
  await server.stop();
  rmSync(directory, { recursive: true });
});
beforeEach(async () => {
  writeFileSync(ledger, "");
  await client.flushall();
});

interface Admission {
  /** Microseconds. */
  readonly at: bigint;
  readonly cost: number;
  readonly source: string;
}

/** What every process wrote down, also those that are gone. */
function admissions(): Admission[] {
  return readFileSync(ledger, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at = "0", source = ""] = line.split(" ");
      return { at: BigInt(at), cost: 1, source };
    })
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function countAdmitted(): number {
  return readFileSync(ledger, "utf8").split("\n").length - 1;
}

/** Resolves when they are in the midst of it. */
function begun(): Promise<true> {
  const many = PROCESSES * MAX * 10;
  return waitUntil("many were admitted", 20_000, () => countAdmitted() > many || undefined);
}

type Options = Partial<LimiterOptions> & { readonly limits: Limit };

/** Lets every process ask for the same subject; resolves with the sources of all who are still there. */
async function strike(options: Options, milliseconds: number): Promise<Record<string, number>> {
  const task = {
    options: { storeTimeout: "1m", lease: { max: MAX, ttl: 200 }, ...options, name: "leased" },
    subject: "one",
    milliseconds,
    atOnce: AT_ONCE,
    ledger,
  };
  const answers = hammers.map(({ child, killed }) =>
    Promise.race([once(child, "message"), killed]),
  );
  for (const { child } of hammers) child.send(task);
  const sources: Record<string, number> = {};
  for (const [answer] of (await Promise.all(answers)) as [Record<string, number>][]) {
    for (const [source, count] of Object.entries(answer)) {
      sources[source] = (sources[source] ?? 0) + count;
    }
  }
  return sources;
}

/** What the store has charged, as it says itself. */
async function charged(limits: Limit): Promise<number> {
  const limiter = createLimiter({ name: "leased", limits, store: redisStore(client) });
  const { allowed, limit, remaining } = await limiter.peek("one");
  await limiter.close();
  // A peek that is allowed reports the limits as if it had been charged.
  return limit - remaining - (allowed ? 1 : 0);
}

describe("eight processes that lease units of one subject", () => {
  // More than eight processes ask for in the time of a test.
  const limit = 1_000_000;
  test.each([
    ["fixedWindow", fixedWindow({ limit, window: "366d" })],
    ["fixedWindow by the clock", fixedWindow({ limit, window: "366d", align: "clock" })],
    ["slidingWindow", slidingWindow({ limit, window: "366d" })],
    ["slidingWindow in buckets", slidingWindow({ limit, window: "366d", buckets: 60 })],
    ["tokenBucket", tokenBucket({ capacity: limit, refill: 1, every: "1d" })],
    ["slidingLog", slidingLog({ limit, window: "366d" })],
  ])("spend what was charged, and give back the rest: %s", async (_, limits) => {
    const sources = await strike({ limits }, 600);
    expect(sources["lease"]).toBeGreaterThan(sources["store"] as number);
    expect(countAdmitted()).toBeLessThan(limit);
    const lost = (await charged(limits)) - countAdmitted();
    // A bucket takes back a lease less what drained while it was held, and counts a part of a unit as one.
    expect(lost === 0 || (lost === 1 && limits.algorithm === "tokenBucket"), `${lost}`).toBe(true);
  });

  test("are admitted the limit, and not one more", async () => {
    const limits = fixedWindow({ limit: 2_000, window: "366d" });
    const sources = await strike({ limits }, 1_000);
    expect(sources["lease"]).toBeGreaterThan(0);
    expect(countAdmitted()).toBe(2_000);
    expect(await charged(limits)).toBe(2_000);
  });

  test("are never admitted more than the limit in a window of the clock", async () => {
    const [window, most] = [250, 1_500];
    await strike({ limits: fixedWindow({ limit: most, window, align: "clock" }) }, LENGTH_MS);
    const byWindow = new Map<bigint, number>();
    for (const { at } of admissions()) {
      const start = at / BigInt(window * 1_000);
      byWindow.set(start, (byWindow.get(start) ?? 0) + 1);
    }
    expect(Math.max(...byWindow.values())).toBeLessThanOrEqual(most);
    expect(admissions().filter(({ source }) => source === "lease").length).toBeGreaterThan(100);
  });

  test.each([
    ["gcra", gcra({ limit: 500, window: 250, burst: 500 })],
    ["slidingLog", slidingLog({ limit: 800, window: 250 })],
    ["slidingWindow in buckets", slidingWindow({ limit: 800, window: 250, buckets: 10 })],
  ])("are admitted what %s guarantees, and what was held at most", async (_, limits) => {
    const sources = await strike({ limits }, LENGTH_MS);
    expect(sources["lease"]).toBeGreaterThan(100);
    expect(findExcess(limits, admissions(), BigInt(PROCESSES * MAX))).toBeUndefined();
  });

  test("go on with what they hold while the store is frozen, and are exact after it", async () => {
    const limits = fixedWindow({ limit, window: "366d" });
    const striking = strike({ limits, storeTimeout: 100, onUnavailable: "deny" }, 2_500);
    await begun();
    server.freeze();
    await delay(600);
    server.thaw();
    const sources = await striking;
    expect(sources["deny"]).toBeGreaterThan(0);
    const lost = (await charged(limits)) - countAdmitted();
    expect(lost).toBeGreaterThanOrEqual(0);
    // What was on its way, or held, when the store fell silent.
    expect(lost).toBeLessThanOrEqual(PROCESSES * (2 * MAX + AT_ONCE));
  });

  // The last one: they are gone after it.
  test("lose with a process that is killed what it held, and no more", async () => {
    const limits = fixedWindow({ limit, window: "366d" });
    const striking = strike({ limits }, 1_500);
    await begun();
    const killed = hammers.splice(0, 4);
    for (const { child } of killed) child.kill("SIGKILL");
    await striking;
    const lost = (await charged(limits)) - countAdmitted();
    // What it held, and the requests that it did not hear of.
    expect(lost).toBeLessThanOrEqual(killed.length * (MAX + AT_ONCE));
    expect(lost).toBeGreaterThanOrEqual(0);
  });
});
