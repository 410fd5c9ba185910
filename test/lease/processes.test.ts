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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findExcess } from "../conformance/admissions.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";

const PROCESSES = 8;
const AT_ONCE = 4;
const MAX = 50;

const script = fileURLToPath(new URL("hammer.mjs", import.meta.url));

let server: RedisProcess;
let client: Redis;
let directory: string;
let ledger: string;
let hammers: ChildProcess[] = [];

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.socket);
  directory = mkdtempSync(join(tmpdir(), "headgate-leases-"));
  ledger = join(directory, "ledger");
});
afterAll(async () => {
  await client.quit();
  await server.stop();
  rmSync(directory, { recursive: true });
});
beforeEach(async () => {
  writeFileSync(ledger, "");
  await client.flushall();
  hammers = Array.from({ length: PROCESSES }, () =>
    fork(script, [server.socket], { execArgv: [] }),
  );
  await Promise.all(hammers.map((child) => once(child, "message")));
});
afterEach(() => {
  for (const child of hammers) child.kill("SIGKILL");
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
  const answers = hammers.map((child) =>
    Promise.race([once(child, "message"), once(child, "exit").then(() => [{}])]),
  );
  for (const child of hammers) child.send(task);
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
  // A peek that is allowed tells of the limits as if it had been charged.
  return limit - remaining - (allowed ? 1 : 0);
}

describe("eight processes that lease units of one subject", () => {
  const limit = 20_000;
  test.each([
    ["fixedWindow", fixedWindow({ limit, window: "366d" })],
    ["fixedWindow by the clock", fixedWindow({ limit, window: "366d", align: "clock" })],
    ["slidingWindow", slidingWindow({ limit, window: "366d" })],
    ["slidingWindow in buckets", slidingWindow({ limit, window: "366d", buckets: 60 })],
    ["tokenBucket", tokenBucket({ capacity: limit, refill: 1, every: "1d" })],
    ["slidingLog", slidingLog({ limit, window: "366d" })],
  ])("spend what was charged, and give back the rest: %s", async (_, limits) => {
    const sources = await strike({ limits }, 600);
    const admitted = admissions();
    expect(sources["lease"]).toBeGreaterThan(sources["store"] as number);
    expect(admitted.length).toBeLessThan(limit);
    expect(await charged(limits)).toBe(admitted.length);
  });

  test("are admitted the limit, and not one more", async () => {
    const limits = fixedWindow({ limit: 2_000, window: "366d" });
    const sources = await strike({ limits }, 1_000);
    expect(sources["lease"]).toBeGreaterThan(0);
    expect(admissions()).toHaveLength(2_000);
    expect(await charged(limits)).toBe(2_000);
  });

  test("are never admitted more than the limit in a window of the clock", async () => {
    const [window, most] = [250, 1_500];
    await strike({ limits: fixedWindow({ limit: most, window, align: "clock" }) }, 2_000);
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
    const sources = await strike({ limits }, 2_000);
    expect(sources["lease"]).toBeGreaterThan(100);
    expect(findExcess(limits, admissions(), BigInt(PROCESSES * MAX))).toBeUndefined();
  });

  test("lose with a process that is killed what it held, and no more", async () => {
    const limits = fixedWindow({ limit, window: "366d" });
    const striking = strike({ limits }, 1_500);
    await delay(500);
    const killed = hammers.splice(0, 4);
    for (const child of killed) child.kill("SIGKILL");
    await striking;
    const lost = (await charged(limits)) - admissions().length;
    // What it held, and the requests that it did not hear of.
    expect(lost).toBeLessThanOrEqual(killed.length * (MAX + AT_ONCE));
    expect(lost).toBeGreaterThanOrEqual(0);
  });

  test("go on with what they hold while the store is frozen, and are exact after it", async () => {
    const limits = fixedWindow({ limit, window: "366d" });
    const striking = strike({ limits, storeTimeout: 100, onUnavailable: "deny" }, 2_500);
    await delay(600);
    server.freeze();
    await delay(600);
    server.thaw();
    const sources = await striking;
    expect(sources["deny"]).toBeGreaterThan(0);
    const lost = (await charged(limits)) - admissions().length;
    expect(lost).toBeGreaterThanOrEqual(0);
    // What was on its way, or held, when the store fell silent.
    expect(lost).toBeLessThanOrEqual(PROCESSES * (2 * MAX + AT_ONCE));
  });
});
