import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Limit, LimiterOptions } from "@headgate/core";
import { gcra, slidingLog } from "@headgate/core";
import type { ActionResult } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCALE } from "../conformance/random/histories.ts";
import { findExcess } from "../conformance/support/admissions.ts";
import { useOwnRedis } from "../support/own-redis.ts";

const PROCESSES = 8;
const AT_ONCE = 2;
const LEASED = 50;
const CHANGE_MS = 300;
const LENGTH_MS = SCALE > 1 ? 60_000 : 6_000;

/** Two clocks of one machine, one of which is read in milliseconds. */
const BETWEEN_CLOCKS = 2_000;

const script = fileURLToPath(new URL("hammer.mjs", import.meta.url));
const redis = useOwnRedis();
let directory: string;
let hammers: ChildProcess[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "headgate-overrides-"));
  hammers = Array.from({ length: PROCESSES }, () =>
    fork(script, [redis.server.socket], { execArgv: [] }),
  );
  await Promise.all(hammers.map((child) => once(child, "message")));
});
afterAll(() => {
  for (const child of hammers) child.kill("SIGKILL");
  rmSync(directory, { recursive: true });
});

/** What a process wrote down of a decision; times in microseconds. */
interface Decided {
  readonly begun: number;
  readonly at: number;
  readonly source: string;
  /** The number by which it was decided, which tells the override. */
  readonly limit: number;
  readonly overridden: boolean;
  readonly allowed: boolean;
}

/** A number, and from when on it is in force everywhere, in microseconds. */
interface Change {
  readonly limit: number;
  readonly effectiveAt: number;
}

/** For so long an action is on its way, in microseconds. */
const UNTIL_IN_FORCE = 2_000_000;

function changeTo(limit: number, { effectiveAt }: ActionResult<unknown>): Change {
  return { limit, effectiveAt: effectiveAt.getTime() * 1_000 };
}

/** Lets every process ask for the same subject while `change` is called every 300 ms. */
async function strike(
  options: Partial<LimiterOptions> & { readonly limits: Limit },
  change: (count: number) => Promise<Change>,
): Promise<{ decided: readonly Decided[]; changes: readonly Change[] }> {
  const ledger = join(directory, "ledger");
  const answers = hammers.map((child) => Promise.race([once(child, "message"), failed(child)]));
  const task = {
    options: { storeTimeout: "1m", ...options, name: "api" },
    subject: "one",
    milliseconds: LENGTH_MS,
    atOnce: AT_ONCE,
    ledger,
  };
  const changes = [await change(0)];
  for (const child of hammers) child.send(task);
  const end = performance.now() + LENGTH_MS;
  while (performance.now() < end) {
    await delay(CHANGE_MS);
    changes.push(await change(changes.length));
  }
  await Promise.all(answers);
  const files = readdirSync(directory).map((name) => join(directory, name));
  const decided = files.flatMap((file) => readFileSync(file, "utf8").split("\n").map(readLine));
  return { decided: decided.sort((a, b) => a.at - b.at), changes };
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = await once(child, "exit");
  throw new Error(`a process ended with code ${code}`);
}

function readLine(line: string): Decided {
  const [begun, at, source = "", limit, overridden, allowed] = line.split(" ");
  return {
    begun: Number(begun),
    at: Number(at),
    source,
    limit: Number(limit),
    overridden: overridden === "true",
    allowed: allowed === "true",
  };
}

/** Decisions by a number that was not to be in force any more when they were begun, or that nobody had set yet. */
function untimely(decided: readonly Decided[], changes: readonly Change[]): readonly Decided[] {
  const spans = new Map<number, { from: number; to: number }[]>();
  changes.forEach(({ limit, effectiveAt }, i) => {
    const from = effectiveAt - UNTIL_IN_FORCE;
    const to = changes[i + 1]?.effectiveAt ?? Number.POSITIVE_INFINITY;
    spans.set(limit, [...(spans.get(limit) ?? []), { from, to }]);
  });
  return decided.filter(({ begun, at, limit }) => {
    const own = spans.get(limit) ?? [];
    return !own.some(({ from, to }) => from <= at + BETWEEN_CLOCKS && begun <= to + BETWEEN_CLOCKS);
  });
}

const operator = () => createAdmin(redisStore(redis.client));

const admissionsOf = (decided: readonly Decided[]) =>
  decided.filter(({ allowed }) => allowed).map(({ at }) => ({ at: BigInt(at), cost: 1 }));

describe("eight processes, while an override changes every 300 ms,", () => {
  test.each([
    ["slidingLog", (limit: number) => slidingLog({ limit, window: 250, name: "one" })],
    ["gcra", (limit: number) => gcra({ limit, window: 250, burst: 800, name: "one" })],
  ])(
    "apply each override in time, and admit no more than the largest limit: %s",
    async (name, of) => {
      const number = name === "gcra" ? "burst" : "limit";
      const { decided, changes } = await strike({ limits: of(100) }, async (count) => {
        const limit = 50 + 37 * (count % 10) + Math.floor(count / 10);
        const limits = { one: { [number]: limit } };
        return changeTo(limit, await operator().setOverride({ limiter: "api", limits }));
      });
      expect(untimely(decided, changes)).toEqual([]);
      expect(decided.every(({ overridden }) => overridden)).toBe(true);
      expect(new Set(decided.map(({ limit }) => limit)).size).toBeGreaterThan(changes.length / 4);
      expect(new Set(decided.map(({ source }) => source))).toEqual(
        new Set(["store", "deny-cache"]),
      );
      const largest = Math.max(...changes.map(({ limit }) => limit));
      const limits = { ...of(100), [number]: largest } as Limit;
      expect(findExcess(limits, admissionsOf(decided))).toBeUndefined();
    },
  );

  test("lease units without an override, and return them under one", async () => {
    const written = 400;
    const limits = slidingLog({ limit: written, window: 250, name: "one" });
    const lease = { max: LEASED, ttl: 200 };
    const { decided, changes } = await strike({ limits, lease }, async (count) => {
      const isOn = count % 10 < 5;
      if (!isOn) return changeTo(written, await operator().unsetOverride({ limiter: "api" }));
      const limits = { one: { limit: 50 + count } };
      return changeTo(50 + count, await operator().setOverride({ limiter: "api", limits }));
    });
    expect(untimely(decided, changes)).toEqual([]);
    const leased = decided.filter(({ source }) => source === "lease");
    expect(leased.length).toBeGreaterThan(100);
    expect(leased.filter(({ overridden }) => overridden)).toEqual([]);
    expect(decided.filter(({ overridden }) => overridden).length).toBeGreaterThan(100);
    const most = { ...limits, limit: Math.max(...changes.map(({ limit }) => limit)) };
    const extra = BigInt(PROCESSES * LEASED);
    expect(findExcess(most, admissionsOf(decided), extra)).toBeUndefined();
  });
});
