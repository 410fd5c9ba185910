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

/** The length in milliseconds of tests that find more if they run longer; eight processes leave no CPU for other suites. */
const LENGTH_MS = SCALE > 1 ? 3_000 : 1_000;

const script = fileURLToPath(new URL("lease-process.mjs", import.meta.url));

let server: RedisProcess;
let client: Redis;
let directory: string;
let ledger: string;
/** A process that sends requests. */
interface LeaseProcess {
  readonly child: ChildProcess;
  /** Resolves when the process was killed, and rejects when it ended by itself. */
  readonly killed: Promise<[Record<string, number>]>;
}

let processes: LeaseProcess[] = [];

function startProcess(): LeaseProcess {
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
  processes = Array.from({ length: PROCESSES }, startProcess);
  await Promise.all(
    processes.map(({ child, killed }) => Promise.race([once(child, "message"), killed])),
  );
});
afterAll(async () => {
  for (const { child } of processes) child.kill("SIGKILL");
  await client.quit();
  await server.stop();
  rmSync(directory, { recursive: true });
});
beforeEach(async () => {
  writeFileSync(ledger, "");
  await client.flushall();
});

interface Admission {
  /** Microseconds of the server's clock: when it was admitted at the earliest. */
  readonly at: bigint;
  /** At the latest: the clocks of two processes are compared as exactly as the fastest replies allow. */
  readonly latest: bigint;
  readonly cost: number;
  readonly source: string;
}

/** The admissions recorded by all processes, also by those that have ended. */
function admissions(): Admission[] {
  return readFileSync(ledger, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at = "", latest = "", source = ""] = line.split(" ");
      return { at: BigInt(at), latest: BigInt(latest), cost: 1, source };
    })
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function countAdmitted(): number {
  return readFileSync(ledger, "utf8").split("\n").length - 1;
}

/** Resolves when many requests have been admitted. */
function hasBegun(): Promise<true> {
  const many = PROCESSES * MAX * 10;
  return waitUntil("many were admitted", 20_000, () => countAdmitted() > many || undefined);
}

type Options = Partial<LimiterOptions> & { readonly limits: Limit };

/** Makes every process send requests for the same subject; resolves with the count of each decision source, without killed processes. */
async function runAll(options: Options, milliseconds: number): Promise<Record<string, number>> {
  const task = {
    options: { storeTimeout: "1m", lease: { max: MAX, ttl: 200 }, ...options, name: "leased" },
    subject: "one",
    milliseconds,
    atOnce: AT_ONCE,
    ledger,
  };
  const answers = processes.map(({ child, killed }) =>
    Promise.race([once(child, "message"), killed]),
  );
  for (const { child } of processes) child.send(task);
  const sources: Record<string, number> = {};
  for (const [answer] of (await Promise.all(answers)) as [Record<string, number>][]) {
    for (const [source, count] of Object.entries(answer)) {
      sources[source] = (sources[source] ?? 0) + count;
    }
  }
  return sources;
}

/** Runs all until leases have paid for more than a hundred requests, which takes longer on a busy machine. */
async function runUntilLeased(options: Options, milliseconds = LENGTH_MS): Promise<void> {
  const isLeased = ({ source }: Admission) => source === "lease";
  do {
    await runAll(options, milliseconds);
  } while (admissions().filter(isLeased).length <= 100);
}

/** The units that are charged in the store. */
async function charged(limits: Limit): Promise<number> {
  const limiter = createLimiter({ name: "leased", limits, store: redisStore(client) });
  const { allowed, limit, remaining } = await limiter.peek("one");
  await limiter.close();
  // A peek that is allowed reports the limits as if it had been charged.
  return limit - remaining - (allowed ? 1 : 0);
}

describe("eight processes that lease units of one subject", () => {
  // More units than eight processes can use within a test.
  const limit = 1_000_000;
  test.each([
    ["fixedWindow", fixedWindow({ limit, window: "366d" })],
    ["fixedWindow by the clock", fixedWindow({ limit, window: "366d", align: "clock" })],
    ["slidingWindow", slidingWindow({ limit, window: "366d" })],
    ["slidingWindow in buckets", slidingWindow({ limit, window: "366d", buckets: 60 })],
    ["tokenBucket", tokenBucket({ capacity: limit, refill: 1, every: "1d" })],
    ["slidingLog", slidingLog({ limit, window: "366d" })],
  ])("eight processes spend leased units and refund the rest: %s", async (_, limits) => {
    await runUntilLeased({ limits }, 600);
    expect(countAdmitted()).toBeLessThan(limit);
    const lost = (await charged(limits)) - countAdmitted();
    // A bucket is refunded a lease less the units that drained while it was held, and counts a fraction of a unit as one.
    expect(lost === 0 || (lost === 1 && limits.algorithm === "tokenBucket"), `${lost}`).toBe(true);
  });

  test("eight processes with leases admit exactly the limit", async () => {
    const limits = fixedWindow({ limit: 2_000, window: "366d" });
    // A busy machine takes longer to send so many; the last run finds nothing left.
    while (countAdmitted() < 2_000) await runAll({ limits }, 1_000);
    await runAll({ limits }, 100);
    expect(admissions().some(({ source }) => source === "lease")).toBe(true);
    expect(countAdmitted()).toBe(2_000);
    expect(await charged(limits)).toBe(2_000);
  });

  test("eight processes with leases never admit more than the limit in a clock-aligned window", async () => {
    const [window, most] = [250n, 1_500];
    const limits = fixedWindow({ limit: most, window: Number(window), align: "clock" });
    await runUntilLeased({ limits });
    const byWindow = new Map<bigint, number>();
    for (const { at, latest } of admissions()) {
      const start = at / (window * 1_000n);
      // One that may have been admitted in either of two windows counts for neither.
      if (latest / (window * 1_000n) !== start) continue;
      byWindow.set(start, (byWindow.get(start) ?? 0) + 1);
    }
    expect(Math.max(...byWindow.values())).toBeLessThanOrEqual(most);
  });

  test.each([
    ["gcra", gcra({ limit: 500, window: 250, burst: 500 })],
    ["slidingLog", slidingLog({ limit: 800, window: 250 })],
    ["slidingWindow in buckets", slidingWindow({ limit: 800, window: 250, buckets: 10 })],
  ])(
    "eight processes admit at most what %s guarantees plus the units held in leases",
    async (_, limits) => {
      await runUntilLeased({ limits });
      expect(findExcess(limits, admissions(), BigInt(PROCESSES * MAX))).toBeUndefined();
    },
  );

  test("eight processes spend their leases while Redis is frozen, and lose at most the units in flight or held then", async () => {
    const limits = fixedWindow({ limit, window: "366d" });
    const running = runAll({ limits, storeTimeout: 100, onUnavailable: "deny" }, 2_500);
    await hasBegun();
    server.freeze();
    await delay(600);
    server.thaw();
    const sources = await running;
    expect(sources["deny"]).toBeGreaterThan(0);
    const lost = (await charged(limits)) - countAdmitted();
    expect(lost).toBeGreaterThanOrEqual(0);
    // The units in flight or held when Redis froze.
    expect(lost).toBeLessThanOrEqual(PROCESSES * (2 * MAX + AT_ONCE));
  });

  // The last test, because it kills processes.
  test("a killed process loses at most the units that it held", async () => {
    const limits = fixedWindow({ limit, window: "366d" });
    const running = runAll({ limits }, 1_500);
    await hasBegun();
    const killed = processes.splice(0, 4);
    for (const { child } of killed) child.kill("SIGKILL");
    await running;
    const lost = (await charged(limits)) - countAdmitted();
    // The units that it held, and its requests in flight.
    expect(lost).toBeLessThanOrEqual(killed.length * (MAX + AT_ONCE));
    expect(lost).toBeGreaterThanOrEqual(0);
  });
});
