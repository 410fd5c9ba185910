import type { Limit, Limiter } from "@headgate/core";
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
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";

const LIMIT = 10;
const MINUTE_MS = 60_000;

/** One window holds them all: nothing comes back while the clock stands still. */
const policies: Record<string, Limit> = {
  gcra: gcra({ limit: LIMIT, window: "1m" }),
  tokenBucket: tokenBucket({ capacity: LIMIT, refill: 2, every: "1m" }),
  fixedWindow: fixedWindow({ limit: LIMIT, window: "1m" }),
  slidingWindow: slidingWindow({ limit: LIMIT, window: "1m" }),
  "slidingWindow of buckets": slidingWindow({ limit: LIMIT, window: "1m", buckets: 6 }),
  slidingLog: slidingLog({ limit: LIMIT, window: "1m" }),
};

let primary: RedisProcess;
let link: TcpProxy;
let replica: RedisProcess;
let toPrimary: Redis;
let toReplica: Redis;
let now = 1_800_000_000_000;

/** A primary, and a replica behind a network that can be cut. */
beforeAll(async () => {
  primary = await startRedis({ port: true, args: ["--repl-diskless-sync-delay", "0"] });
  link = await startTcpProxy({ port: primary.port });
  replica = await startRedis({ port: true });
  toPrimary = new Redis(primary.socket);
  toReplica = new Redis(replica.socket);
});
afterAll(async () => {
  toPrimary.disconnect();
  toReplica.disconnect();
  await replica.stop();
  await link.close();
  await primary.stop();
});

/** Makes the replica one again, with all that the primary has. */
async function join(): Promise<void> {
  link.pass();
  await toReplica.call("REPLICAOF", "127.0.0.1", link.port);
  await arrived();
}

/** Waits until what was written to the primary is on the replica. */
async function arrived(): Promise<void> {
  await waitUntil("the replica has everything", 20_000, async () => {
    const info = await toReplica.info("replication");
    const isUp = /master_link_status:up/.test(info);
    return isUp && (await toPrimary.wait(1, 100)) === 1 ? true : undefined;
  });
}

/** Cuts the network and lets the replica take over, without what has not reached it. */
async function takeOver(): Promise<void> {
  await toReplica.call("REPLICAOF", "NO", "ONE");
}

function open(client: Redis): [name: string, limiter: Limiter][] {
  const store = redisStore(client, { clock: () => now });
  return Object.entries(policies).map(([name, limits]) => [
    name,
    createLimiter({ name, limits, store, storeTimeout: "1m", denyCache: false }),
  ]);
}

async function admitted(limiter: Limiter, subject: string, count: number): Promise<number> {
  let units = 0;
  for (let i = 0; i < count; i += 1) {
    const decision = await limiter.consume(subject);
    expect(decision.source).toBe("store");
    if (decision.allowed) units += 1;
  }
  return units;
}

/** The requests of one subject that each policy admits, out of so many. */
async function admittedByEach(
  limiters: readonly [name: string, limiter: Limiter][],
  subject: string,
  count: number,
): Promise<Record<string, number>> {
  const units = limiters.map(async ([name, limiter]) => [
    name,
    await admitted(limiter, subject, count),
  ]);
  return Object.fromEntries(await Promise.all(units)) as Record<string, number>;
}

function eachOf(units: number): Record<string, number> {
  return Object.fromEntries(Object.keys(policies).map((name) => [name, units]));
}

test("after a crash, the units of lost writes are admitted once more, and no others", async () => {
  await join();
  const before = open(toPrimary);
  const after = open(toReplica);
  const losses = Array.from({ length: LIMIT + 1 }, (_, lost) => lost);
  for (const lost of losses) {
    expect(await admittedByEach(before, `lost ${lost}`, LIMIT - lost)).toEqual(
      eachOf(LIMIT - lost),
    );
  }
  await arrived();
  link.swallow();
  for (const lost of losses) {
    expect(await admittedByEach(before, `lost ${lost}`, lost + 5)).toEqual(eachOf(lost));
  }
  await takeOver();
  for (const lost of losses) {
    expect(await admittedByEach(after, `lost ${lost}`, 2 * LIMIT)).toEqual(eachOf(lost));
    for (const [, limiter] of after) {
      const { retryAfterMs } = await limiter.consume(`lost ${lost}`);
      // The weighted window may hold the last one for a part of the next.
      expect(retryAfterMs).toBeLessThanOrEqual(1.2 * MINUTE_MS);
    }
  }
});

test("two primaries at once admit the policy each while both are used, and once again after that", async () => {
  await join();
  const here = open(toPrimary);
  const there = open(toReplica);
  expect(await admittedByEach(here, "parted", 4)).toEqual(eachOf(4));
  await arrived();
  link.swallow();
  await takeOver();
  // Both know of the first four.
  expect(await admittedByEach(here, "parted", LIMIT)).toEqual(eachOf(LIMIT - 4));
  expect(await admittedByEach(there, "parted", LIMIT)).toEqual(eachOf(LIMIT - 4));
  await join();
  expect(await admittedByEach(here, "parted", LIMIT)).toEqual(eachOf(0));
  now += 10 * MINUTE_MS;
  expect(await admittedByEach(here, "parted", 2 * LIMIT)).toEqual(eachOf(LIMIT));
});
