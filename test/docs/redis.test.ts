import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { probeLua } from "../../packages/core/src/operations/lua.generated.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { blocksOf, page, section, tablesOf } from "./markdown.ts";

const [keys, acl] = blocksOf([page("docs/reference/redis.md")], "text");
const scans = blocksOf([page("docs/reference/redis.md")], "sh").flatMap(({ text }) =>
  [...text.matchAll(/--pattern '([^']+)'/g)].map(([, pattern = ""]) => pattern),
);

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

test("docs/reference/redis.md shows the real keys, and its patterns match them", async () => {
  const store = redisStore(admin);
  // The same options as in the page's first snippet.
  const limits = [gcra({ limit: 100, window: "1m" }), slidingLog({ limit: 1_000, window: "1d" })];
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  await limiter.consume("203.0.113.7");
  const shown = keys?.text.trim().split("\n");
  expect((await admin.keys("*")).sort()).toEqual(shown);
  for (const pattern of scans) expect((await admin.keys(pattern)).sort()).toEqual(shown);
  await limiter.close();
  await createLimiter({ name: "other", limits, store, storeTimeout: "10s" }).consume("203.0.113.8");
  for (const pattern of scans) expect((await admin.keys(pattern)).sort()).toEqual(shown);
  expect(scans).toHaveLength(2);
});

test("the key that docs/start/with-redis.md shows is real", async () => {
  await admin.flushall();
  const limits = gcra({ limit: 5, window: "1m" });
  const limiter = createLimiter({
    name: "api",
    limits,
    store: redisStore(admin),
    storeTimeout: "10s",
  });
  await limiter.consume("127.0.0.1");
  await limiter.close();
  const [key = ""] = await admin.keys("*");
  const shown = section(page("docs/start/with-redis.md"), "Look into Redis");
  expect(shown).toContain(`\`\`\`text\n${key}\n\`\`\``);
});

test("a limiter needs exactly the permissions of docs/reference/redis.md", async () => {
  const [command = "", ...args] = acl?.text.trim().split(" ") ?? [];
  await admin.call(command, ...args);
  const user = new Redis({
    path: server.socket,
    username: "headgate",
    password: "secret",
    enableReadyCheck: false,
  });
  const limits = [gcra({ limit: 90, window: "1h" }), slidingLog({ limit: 80, window: "1h" })];
  const limiter = createLimiter({
    name: "acl",
    limits,
    store: redisStore(user),
    storeTimeout: "1m",
  });
  const all = await Promise.all(Array.from({ length: 100 }, () => limiter.consume("ada")));
  expect(all.filter(({ allowed }) => allowed)).toHaveLength(80);
  expect(all.filter(({ degraded }) => degraded)).toEqual([]);
  expect((await limiter.peek("ada")).allowed).toBe(false);
  expect(await limiter.refund(all[0] as (typeof all)[0])).toBe(true);
  expect(await limiter.reset("ada")).toBe(true);
  const probed = await user.eval(probeLua.source, 1, "hg:{ada}:probe", "", "0", "1");
  expect(probed).toEqual([expect.any(Number), 1]);
  await expect(user.get("a key of others")).rejects.toThrow("NOPERM");
  await expect(user.keys("*")).rejects.toThrow("NOPERM");
  user.disconnect();
});

describe("sizes", () => {
  const rows = tablesOf(section(page("docs/reference/redis.md"), "Sizes"))[0]?.rows ?? [];
  const documented = (row: number) => Number(rows[row]?.[1]?.replaceAll(",", ""));
  const few = { subjects: 4_096, requests: 1 };

  test.for([
    { what: "one limit", row: 0, ...few, limits: gcra({ limit: 100, window: "1h" }) },
    {
      what: "three limits",
      row: 1,
      ...few,
      limits: [
        gcra({ limit: 100, window: "1h" }),
        fixedWindow({ limit: 1_000, window: "1d" }),
        slidingWindow({ limit: 500, window: "1d" }),
      ],
    },
    {
      what: "a calendar window",
      row: 2,
      ...few,
      limits: fixedWindow({ limit: 100, window: "month" }),
    },
    {
      what: "60 buckets",
      row: 4,
      ...few,
      limits: slidingWindow({ limit: 100, window: "1h", buckets: 60 }),
    },
    { what: "a log", row: 5, ...few, limits: slidingLog({ limit: 100, window: "1h" }) },
    {
      what: "a log of 100",
      row: 6,
      subjects: 256,
      requests: 100,
      limits: slidingLog({ limit: 100, window: "1h" }),
    },
    {
      what: "a log of 1,000",
      row: 7,
      subjects: 64,
      requests: 1_000,
      limits: slidingLog({ limit: 1_000, window: "1h" }),
    },
  ])("the size of $what in docs/reference/redis.md is measured", async (measured, { skip }) => {
    const { row, limits, requests } = measured;
    skip(!server.version.startsWith("redis 7.0"), "the page says what Redis 7.0 takes");
    await admin.flushall();
    const store = redisStore(admin);
    // So many concurrent calls wait for each other, and Redis must count all of them.
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
    await Promise.all([limiter.consume("warm"), limiter.consume("warm")]);
    await limiter.consume("warm");
    const before = await usedMemory();
    const subjects = Array.from(
      { length: measured.subjects },
      (_, i) => `203.0.${i >> 8}.${i & 255}`,
    );
    for (let i = 0; i < requests; i += 1) {
      await Promise.all(subjects.map((subject) => limiter.consume(subject)));
    }
    const bytes = ((await usedMemory()) - before) / subjects.length;
    await limiter.close();
    expect(bytes / documented(row)).toBeGreaterThan(0.9);
    expect(bytes / documented(row)).toBeLessThan(1.1);
  });
});

async function usedMemory(): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await admin.info("memory"))?.[1]);
}
