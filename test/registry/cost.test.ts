import { randomBytes } from "node:crypto";
import { createLimiter, gcra } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { updateRegistry } from "../../packages/core/src/registry/operations.ts";
import {
  PROCESS_TTL_MS,
  SHARED_TTL_MS,
} from "../../packages/core/src/registry/process-registry.ts";
import { readCommandStats, resetCommandStats } from "../redis/command-stats.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

const PROCESSES = 1_000;
const LIMITERS = 300;
/** How often each of them writes, and how many records it keeps each time. */
const EVERY_S = 33;
const IN_TURN = 16;

async function usedMemory(): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await own.client.info("memory"))?.[1]);
}

test(`${PROCESSES} processes of ${LIMITERS} limiters cost a server little`, async () => {
  const store = requireStore(redisStore(own.client));
  const limits = gcra({ limit: 5, window: "1m" });
  const names = Array.from({ length: LIMITERS }, (_, i) => `site GET /a/route/number/${i}`);
  const limiters = names.map((name) => createLimiter({ name, store, limits }));
  const before = await usedMemory();
  await writeRegistry(store);
  const [key = ""] = await own.client.keys("hg:{registry}:process/*");
  const text = (await own.client.get(key)) ?? "";
  const { records: hashes } = JSON.parse(text) as { records: string[] };
  expect(hashes).toHaveLength(LIMITERS);

  const others = Array.from({ length: PROCESSES - 1 }, () => randomBytes(12).toString("base64url"));
  const call = (process: string) => ({
    prefix: "hg",
    process,
    record: text.replace(/"process":"[^"]*"/, `"process":"${process}"`),
    ttlMs: PROCESS_TTL_MS,
    sharedTtlMs: SHARED_TTL_MS,
    shared: hashes.slice(0, IN_TURN).map((hash) => ({ hash, text: "" })),
  });
  for (const process of others) await store.run(updateRegistry, call(process));
  await resetCommandStats(own.client);
  for (const process of others) await store.run(updateRegistry, call(process));
  const { calls, microseconds } = await readCommandStats(own.client, "evalsha");
  const each = microseconds / calls;
  const share = (each * PROCESSES) / EVERY_S / 1_000_000;
  const memory = (await usedMemory()) - before;

  const started = performance.now();
  const { limiters: listed, processes, unreadable } = await readRegistry(store);
  const read = performance.now() - started;
  expect(processes).toHaveLength(PROCESSES);
  expect(listed).toHaveLength(LIMITERS);
  expect(listed[0]?.processes).toHaveLength(PROCESSES);
  expect(unreadable).toEqual([]);
  console.log(
    `${each.toFixed(0)} µs a write, ${(100 * share).toFixed(2)} % of the server, ${text.length} bytes a process, ${(memory / 2 ** 20).toFixed(1)} MB, read in ${read.toFixed(0)} ms`,
  );
  // Five times what it takes on a machine that has nothing else to do.
  expect(share).toBeLessThan(0.02);
  await Promise.all(limiters.map((limiter) => limiter.close()));
});
