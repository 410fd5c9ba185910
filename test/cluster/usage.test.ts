import { createLimiter, fixedWindow } from "@headgate/core";
import { readBlocks, readUsage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCounterTop } from "../../packages/cli/src/top/counter-top.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";

const SUBJECTS = Array.from({ length: 12 }, (_, i) => `subject ${i}`);

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
  client = new Cluster([...cluster.addresses]);
});
afterAll(async () => {
  client?.disconnect();
  await cluster?.stop();
});

test("usage on a cluster is in one hash slot, and counters are found on every primary", async () => {
  const store = redisStore(client, { usage: { subjects: "plain" } });
  const limits = fixedWindow({ limit: 3, window: "1d" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "20s" });
  for (const subject of SUBJECTS) await limiter.consume(subject);
  await writeRegistry(store);
  let most = 0;
  const signal = new AbortController().signal;
  const connection = { displayUrl: "", client, store, prefix: "hg", close: async () => {} };
  const progress = {
    start(keys: number) {
      most = keys;
    },
    update() {},
    stop() {},
  };
  const found = await readCounterTop(connection as never, "api", 100_000, progress, signal);
  expect(found.isComplete).toBe(true);
  expect(found.scannedKeys).toBe(most);
  expect(found.subjects.map(({ subject }) => subject).sort()).toEqual([...SUBJECTS].sort());
  const primaries = new Set(
    await Promise.all(SUBJECTS.map((one) => cluster.nodeOf(`hg:{${one.replace(" ", "%20")}}`))),
  );
  expect(primaries.size).toBeGreaterThan(1);
  await limiter.close();
  const [api] = (await readUsage(store)).limiters;
  expect(api?.total).toEqual({ allowed: SUBJECTS.length, denied: 0, degraded: 0 });
  expect(api?.subjects.used.top).toHaveLength(SUBJECTS.length);
});

test("blocks on a cluster are read from every primary, and hours from the hash slot of usage", async () => {
  const store = redisStore(client, { prefix: "shop", usage: { subjects: "plain" } });
  const limits = fixedWindow({ limit: 1, window: "1d", block: "1h" });
  const limiter = createLimiter({ name: "login", store, limits, storeTimeout: "20s" });
  await writeRegistry(store);
  for (let i = 0; i < 3; i += 1) for (const subject of SUBJECTS) await limiter.consume(subject);
  await sendUsage(store);
  const { blocks, uncheckedCount, unreadable } = await readBlocks(store);
  expect({ uncheckedCount, unreadable }).toEqual({ uncheckedCount: 0, unreadable: [] });
  expect(blocks.map(({ subject }) => subject).sort()).toEqual([...SUBJECTS].sort());
  const [login] = (await readUsage(store, { span: "30d" })).limiters;
  expect(login?.hours.reduce((sum, { denied }) => sum + denied, 0)).toBe(2 * SUBJECTS.length);
  expect(login?.limits.byBlock).toBeGreaterThan(0);
  await limiter.close();
});
