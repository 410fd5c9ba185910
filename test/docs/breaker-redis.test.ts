import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { blocksOf, page, section, tablesOf } from "./markdown.ts";

const IN_REDIS = section(page("docs/reference/breaker.md"), "In Redis");
const [, acl] = blocksOf([page("docs/reference/redis.md")], "text");

let server: RedisProcess;
let admin: Redis;

beforeAll(async () => {
  // Needs its own server, because users and memory belong to the whole server.
  server = await startRedis();
  admin = new Redis(server.socket);
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await admin.flushall();
});

test("a breaker has the documented keys, and none for its state until it opens", async () => {
  const breaker = createBreaker({ name: "payments", store: redisStore(admin), minimumCalls: 2 });
  const bank = breaker.for("bank-eu");
  const [stateKey, windowKey] = /```text\n([\s\S]+?)\n```/.exec(IN_REDIS)?.[1]?.split("\n") ?? [];
  await bank.record("failure");
  await bank.snapshot();
  expect(await admin.keys("*")).toEqual([windowKey]);
  await bank.record("failure");
  await bank.snapshot();
  expect((await admin.keys("*")).sort()).toEqual([stateKey, windowKey]);
  for (const key of await admin.keys("*")) expect(await admin.pttl(key)).toBeGreaterThan(0);
  await breaker.close();
});

test("a breaker works with the permissions of docs/reference/redis.md", async () => {
  const [command = "", ...args] = acl?.text.trim().split(" ") ?? [];
  await admin.call(command, ...args);
  const user = new Redis({
    path: server.socket,
    username: "headgate",
    password: "secret",
    enableReadyCheck: false,
  });
  const store = redisStore(user);
  const breaker = createBreaker({ name: "acl", store, minimumCalls: 1, storeTimeout: "1m" });
  await breaker.record("failure");
  expect(await breaker.snapshot()).toMatchObject({ state: "open", degraded: false });
  await breaker.metricsOnly();
  await breaker.reset();
  expect(await breaker.snapshot()).toMatchObject({ state: "closed", degraded: false });
  await breaker.close();
  user.disconnect();
});

describe("sizes", () => {
  const rows = tablesOf(IN_REDIS)[0]?.rows ?? [];
  const documented = (row: number): number => Number(rows[row]?.[1]?.replaceAll(",", ""));

  test.for([
    { what: "a window by time", row: 0, window: "5m" as const, outcomes: 1, targets: 4_096 },
    { what: "100 calls", row: 1, window: { calls: 100 }, outcomes: 100, targets: 1_024 },
    { what: "1,000 calls", row: 2, window: { calls: 1_000 }, outcomes: 1_000, targets: 128 },
    { what: "10,000 calls", row: 3, window: { calls: 10_000 }, outcomes: 10_000, targets: 16 },
  ])(
    "what the page says of $what is measured",
    async ({ row, window, outcomes, targets }, { skip }) => {
      skip(!server.version.startsWith("redis 7.0"), "the page says what Redis 7.0 takes");
      const bytes = await measure({ window, minimumSuccessRate: 0 }, outcomes, targets);
      expect(bytes / documented(row)).toBeGreaterThan(0.9);
      expect(bytes / documented(row)).toBeLessThan(1.1);
    },
  );

  test("the state of an opened target has the documented size", async ({ skip }) => {
    skip(!server.version.startsWith("redis 7.0"), "the page says what Redis 7.0 takes");
    const bytes = await measure({ minimumCalls: 1 }, 1, 4_096);
    expect(bytes / (documented(0) + documented(4))).toBeGreaterThan(0.9);
    expect(bytes / (documented(0) + documented(4))).toBeLessThan(1.1);
  });

  /** Returns the bytes for each target after so many failures. */
  async function measure(
    options: Parameters<typeof createBreaker>[0],
    outcomes: number,
    targets: number,
  ): Promise<number> {
    const store = redisStore(admin);
    // So many concurrent calls wait for each other, and Redis must count all of them.
    const breaker = createBreaker({ name: "payments", store, storeTimeout: "1m", ...options });
    await breaker.snapshot();
    const before = await usedMemory();
    await Promise.all(
      Array.from({ length: targets }, async (_, i) => {
        const target = breaker.for(`upstream-${1_000 + i}`);
        await Promise.all(Array.from({ length: outcomes }, () => target.record("failure")));
        await target.snapshot();
      }),
    );
    await breaker.close();
    return ((await usedMemory()) - before) / targets;
  }

  async function usedMemory(): Promise<number> {
    return Number(/used_memory:(\d+)/.exec(await admin.info("memory"))?.[1]);
  }
});
