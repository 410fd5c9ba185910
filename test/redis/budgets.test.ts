import type { Limit } from "@headgate/core";
import { gcra, memoryStore, slidingLog } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import type { CounterLimits } from "../../packages/core/src/operations/counter.ts";
import { decide } from "../../packages/core/src/operations/decide.ts";
import { compileLimiterPolicy } from "../../packages/core/src/policy/compiled-policy.ts";
import { useOwnRedis } from "../support/own-redis.ts";

/*
 * What a subject costs in Redis, by the server's own account of its memory, with keys of 19 characters. For keys of fixed
 * size it is the difference of used_memory over 10,000 of them, which counts the key, its value, its expiry and its share
 * of both hash tables; for logs it is MEMORY USAGE of counter and log.
 */

const own = useOwnRedis();

/** What the server has allocated, once it has let go of all clients but one. */
async function usedMemory(): Promise<number> {
  while (
    String(await own.client.client("LIST"))
      .trim()
      .split("\n").length > 1
  );
  const info = await own.client.info("memory");
  return Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
}

/** A policy as the store's steps take it, for keys of any name. */
function counterLimitsOf(...limits: Limit[]): CounterLimits {
  const [group] = compileLimiterPolicy("budget", limits, requireStore(memoryStore())).groups;
  if (group === undefined) throw new Error("a policy has at least one group");
  return group;
}

/** Charges `keys` keys `times` times each, and returns the bytes the server took for each key. */
async function bytesPerKey(limits: CounterLimits, keys: number, times: number): Promise<number> {
  const names = Array.from({ length: keys * 1.1 }, (_, i) => `key-${String(i).padStart(15, "0")}`);
  expect(names[0]).toHaveLength(19);
  // The first keys bring what a server takes once: the script, tables of the smallest size.
  await charge(limits, names.slice(keys), times);
  const before = await usedMemory();
  await charge(limits, names.slice(0, keys), times);
  return ((await usedMemory()) - before) / keys;
}

/** Charges keys over a connection of its own, whose buffers are gone when it returns. */
async function charge(
  limits: CounterLimits,
  keys: readonly string[],
  times: number,
): Promise<void> {
  const client = new Redis(own.server.socket, { enableAutoPipelining: true });
  const store = requireStore(redisStore(client));
  const once = async (key: string) => {
    const { allowed } = await store.run(decide, {
      cost: 1,
      mode: "charge" as const,
      counters: [{ ...limits, key, keyspace: "" }],
    });
    if (!allowed) throw new Error(`${key} was denied`);
  };
  const calls = keys.flatMap((key) => new Array<string>(times).fill(key));
  for (let i = 0; i < calls.length; i += 1_000) {
    await Promise.all(calls.slice(i, i + 1_000).map(once));
  }
  await client.quit();
}

/** The bytes of a counter and its log together, each with its name and what the server adds, after `times` charges. */
async function bytesWithLog(limits: CounterLimits, times: number): Promise<number> {
  const key = "a key of 19 bytes..";
  await charge(limits, [key], times);
  const usages = await Promise.all(
    [key, `${key}:log0`].map((name) => own.client.memory("USAGE", name)),
  );
  return usages.reduce<number>((sum, bytes) => sum + Number(bytes), 0);
}

describe("memory per subject", () => {
  test("a subject takes at most 190 bytes for one limit", async () => {
    const bytes = await bytesPerKey(counterLimitsOf(gcra({ limit: 100, window: "1h" })), 10_000, 1);
    report("one limit", bytes);
    expect(bytes).toBeLessThanOrEqual(190);
    expect(bytes).toBeGreaterThan(50);
  });

  test("a subject takes at most 240 bytes for three limits", async () => {
    const limits = counterLimitsOf(
      gcra({ limit: 100, window: "1m" }),
      gcra({ limit: 1_000, window: "1h" }),
      gcra({ limit: 10_000, window: "1d" }),
    );
    const bytes = await bytesPerKey(limits, 10_000, 1);
    report("three limits", bytes);
    expect(bytes).toBeLessThanOrEqual(240);
  });

  test("a sliding log takes at most 16 bytes per entry for 1,000 entries, including its counter", async () => {
    const limits = counterLimitsOf(slidingLog({ limit: 1_000, window: "1h" }));
    const bytes = await bytesWithLog(limits, 1_000);
    report("an entry of 1,000 in a log of 1,000", bytes / 1_000);
    expect(bytes / 1_000).toBeLessThanOrEqual(16);
    expect(bytes / 1_000).toBeGreaterThan(10);
  });

  test("a sliding log below its limit takes at most 20 bytes per entry", async () => {
    const limits = counterLimitsOf(slidingLog({ limit: 100_000, window: "1h" }));
    const bytes = await bytesWithLog(limits, 1_000);
    report("an entry of 1,000 in a log of 100,000", bytes / 1_000);
    expect(bytes / 1_000).toBeLessThanOrEqual(20);
  });

  test("a larger cost takes no more memory", async () => {
    const limits = counterLimitsOf(slidingLog({ limit: 1_000_000, window: "1h" }));
    const store = requireStore(redisStore(own.client));
    const call = (cost: number) => ({
      cost,
      mode: "charge" as const,
      counters: [{ ...limits, key: "a key of 19 bytes..", keyspace: "" }],
    });
    await store.run(decide, call(1));
    const before = await own.client.memory("USAGE", "a key of 19 bytes..:log0");
    await own.client.flushall();
    await store.run(decide, call(999_999));
    expect(await own.client.memory("USAGE", "a key of 19 bytes..:log0")).toBe(before);
  });
});

function report(what: string, bytes: number): void {
  console.log(`${what}: ${bytes.toFixed(1)} bytes (${own.server.version})`);
}
