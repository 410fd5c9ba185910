import { createBreaker } from "@headgate/breaker";
import { createLimiter, gcra } from "@headgate/core";
import { readRegistry, readUsageCoverage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

/** A limiter of this process, which asks nothing. */
async function start(usage: boolean) {
  const client = new Redis(own.server.socket);
  const store = redisStore(client, { usage });
  const limits = gcra({ limit: 1, window: "1m" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "1m" });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  await writeRegistry(store);
  return { store, limiter };
}

test("a process with nothing to count reports, too", async () => {
  const { store } = await start(true);
  const [process] = (await readRegistry(store)).processes;
  const before = await readUsageCoverage(store);
  expect(before).toMatchObject({ reporting: [], silent: [{ id: process?.id }], unreadable: [] });
  expect(before.newest).toBeUndefined();
  await sendUsage(store);
  const { at, reporting, silent, newest } = await readUsageCoverage(own.client);
  expect(silent).toEqual([]);
  expect(reporting).toEqual([{ id: process?.id, at: newest }]);
  expect(Math.abs(at - (newest ?? 0))).toBeLessThan(5_000);
});

test("a process without usage is silent, and so is one whose report is old", async () => {
  const { store } = await start(false);
  const registry = await readRegistry(store);
  const id = registry.processes[0]?.id;
  const [name] = registry.processes[0]?.names ?? [];
  const key = `hg:{usage}:process/${name}`;
  expect(await readUsageCoverage(store, { registry })).toMatchObject({
    silent: [{ id }],
  });
  const now = Math.floor(Date.now() / 1_000);
  await own.client.hset(key, { call: 7, at: now - 95 });
  const coverage = await readUsageCoverage(store, { registry });
  expect(coverage).toMatchObject({ reporting: [], silent: [{ id, at: (now - 95) * 1_000 }] });
  await own.client.hset(key, { at: now - 80 });
  expect(await readUsageCoverage(store)).toMatchObject({ reporting: [{ id }], silent: [] });
  await own.client.hset(key, { at: "yesterday" });
  expect((await readUsageCoverage(store)).unreadable).toEqual([{ key, reason: "damaged" }]);
});

test("a process with breakers alone has no usage to report", async () => {
  const store = redisStore(own.client);
  const breaker = createBreaker({ name: "upstream", store });
  onTestFinished(() => breaker.close());
  await writeRegistry(store);
  expect((await readRegistry(store)).processes).toHaveLength(1);
  expect(await readUsageCoverage(store)).toMatchObject({ reporting: [], silent: [] });
});
