import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Decision, Limiter, LimiterOptions } from "@headgate/core";
import { concurrency, createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";
import { readCommandStats, resetCommandStats } from "./command-stats.ts";
import { STORE_ALONE } from "./store-alone.ts";

const two = concurrency({ limit: 2, ttl: "1m" });

let server: RedisProcess;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis({ port: true });
  redis = new Redis(server.socket);
});
afterAll(async () => {
  await redis.quit();
  await server.stop();
});
beforeEach(() => redis.flushall());

function open(options: Partial<LimiterOptions> = {}, client = redis): Limiter {
  const store = redisStore(client);
  const limiter = createLimiter({ ...STORE_ALONE, name: "places", limits: two, store, ...options });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

/** The bytes of a slot's record. */
const RECORD = 15;

async function onRecord(): Promise<number> {
  const [key] = (await redis.keys("*")).filter((name) => name.endsWith(":log0"));
  return key === undefined ? 0 : redis.strlen(key);
}

describe("concurrency slots in Redis", () => {
  test("each slot is one record, in keys that expire", async () => {
    const limiter = open({ limits: concurrency({ limit: 10, ttl: "1m" }) });
    const decisions = await Promise.all(Array.from({ length: 12 }, () => limiter.consume("ann")));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(await onRecord()).toBe(10 * RECORD);
    for (const key of await redis.keys("*")) {
      const ms = await redis.pttl(key);
      expect(ms).toBeGreaterThanOrEqual(60_000);
      expect(ms).toBeLessThan(150_000);
    }
    await Promise.all(decisions.map((decision) => limiter.release(decision)));
    expect((await limiter.peek("ann", { cost: 0 })).remaining).toBe(10);
  });

  test("a counter expires even if its string of slots is gone", async () => {
    const limiter = open();
    const decision = await limiter.consume("ann");
    await limiter.release(decision);
    const [key = ""] = (await redis.keys("*")).filter((name) => name.endsWith(":log0"));
    await redis.del(key);
    await limiter.consume("ann");
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });

  test("slots count as free if a part of their state is gone", async () => {
    const limiter = open();
    await Promise.all([limiter.consume("ann"), limiter.consume("ann")]);
    const [key = ""] = (await redis.keys("*")).filter((name) => name.endsWith(":log0"));
    await redis.set(key, "x");
    expect(await limiter.consume("ann")).toMatchObject({ allowed: true, remaining: 1 });
  });

  test("a key of a wrong type is not changed", async () => {
    const limiter = open({ onUnavailable: "deny" });
    const decision = await limiter.consume("ann");
    const [key = ""] = (await redis.keys("*")).filter((name) => name.endsWith(":log0"));
    await redis.del(key);
    await redis.lpush(key, "a list");
    watchWarnings();
    expect(await limiter.consume("ann")).toMatchObject({ source: "deny" });
    await expect(limiter.release(decision)).rejects.toMatchObject({ code: "HEADGATE_WRONG_TYPE" });
  });
});

describe("a decision", () => {
  test("a decision with slots and other limits is one call, and so are a release and the renewal of many slots", async () => {
    const limits = [gcra({ limit: 100, window: "1h" }), concurrency({ limit: 50, ttl: 300 })];
    const limiter = open({ limits });
    await limiter.release(await limiter.consume("ann"));
    await resetCommandStats(redis);
    const decision = await limiter.consume("ann");
    expect((await readCommandStats(redis, "evalsha")).calls).toBe(1);
    await limiter.release(decision);
    expect((await readCommandStats(redis, "evalsha")).calls).toBe(2);
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const runs = Array.from({ length: 40 }, () => limiter.run("ann", () => ended));
    await waitUntil("all run", 10_000, async () => {
      const { limits } = await limiter.peek("ann", { cost: 0 });
      return limits[1]?.remaining === 10 || undefined;
    });
    await resetCommandStats(redis);
    await waitUntil("they are renewed", 10_000, async () => {
      const { calls } = await readCommandStats(redis, "evalsha");
      return calls >= 5 || undefined;
    });
    const { calls } = await readCommandStats(redis, "evalsha");
    // Each call read the string once, not once per slot.
    expect((await readCommandStats(redis, "get")).calls).toBeLessThanOrEqual(2 * calls + 2);
    end();
    await Promise.all(runs);
  });

  test("a denial by concurrency slots is never cached", async () => {
    const limiter = open({ denyCache: true });
    const [first] = await Promise.all([limiter.consume("ann"), limiter.consume("ann")]);
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, source: "store" });
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, source: "store" });
    // Released by another process, which this one does not notice.
    const other = new Redis(server.socket);
    const elsewhere = open({}, other);
    await limiter.release(first);
    expect(await elsewhere.consume("ann")).toMatchObject({ allowed: true });
    await other.quit();
  });

  test("a denial by another limit is cached, even with concurrency slots", async () => {
    const limits = [gcra({ limit: 1, window: "1h" }), concurrency({ limit: 5, ttl: "1m" })];
    const limiter = open({ limits, denyCache: true });
    await limiter.consume("ann");
    expect(await limiter.consume("ann")).toMatchObject({ source: "store" });
    const cached = await limiter.consume("ann");
    expect(cached).toMatchObject({ source: "deny-cache", allowed: false });
    expect(cached.limits.map(({ allowed }) => allowed)).toEqual([false, true]);
  });
});

describe("a late reply", () => {
  let proxy: TcpProxy;
  let client: Redis;

  beforeEach(async () => {
    watchWarnings();
    proxy = await startTcpProxy({ port: server.port });
    client = new Redis({ port: proxy.port, host: "127.0.0.1", maxRetriesPerRequest: null });
    client.on("error", () => {});
    onTestFinished(async () => {
      client.disconnect();
      await proxy.close();
    });
    await client.ping();
  });

  /** Places of the limiter in Redis, as another client sees them. */
  async function taken(): Promise<number> {
    const limiter = open({ name: "late" });
    const { remaining } = await limiter.peek("ann", { cost: 0 });
    await limiter.close();
    return 2 - remaining;
  }

  test("a slot that arrives too late is released", async () => {
    const limiter = open({ name: "late", storeTimeout: 500, onUnavailable: "deny" }, client);
    await limiter.peek("ann");
    await limiter.release(await limiter.consume("ann"));
    proxy.hold("replies");
    expect(await limiter.consume("ann")).toMatchObject({ source: "deny" });
    await waitUntil("the server took it", 10_000, async () => (await taken()) === 1 || undefined);
    proxy.pass();
    await waitUntil("it is given back", 10_000, async () => (await taken()) === 0 || undefined);
  });

  test("a call whose connection is cut takes at most one slot, however often the client sends it", async () => {
    const limiter = open({ name: "late", storeTimeout: "10s" }, client);
    await limiter.release(await limiter.consume("ann"));
    proxy.cutReply(0);
    const decision = await limiter.consume("ann");
    expect(decision).toMatchObject({ allowed: true, source: "store", remaining: 1 });
    expect(await taken()).toBe(1);
    await limiter.release(decision);
    expect(await taken()).toBe(0);
  });
});

test("while Redis is unavailable, slots are counted in this process", async () => {
  watchWarnings();
  const away = await startRedis();
  onTestFinished(() => away.stop());
  const client = new Redis(away.socket);
  onTestFinished(() => client.disconnect());
  const limiter = open({ name: "away", storeTimeout: 500 }, client);
  const before = await limiter.consume("ann");
  away.freeze();
  const decisions = [];
  for (let i = 0; i < 3; i += 1) decisions.push(await limiter.consume("ann"));
  expect(decisions.map(({ source, allowed }) => [source, allowed])).toEqual([
    ["local", true],
    ["local", true],
    ["local", false],
  ]);
  expect(await limiter.release(decisions[0] as Decision)).toBe(true);
  const waiting = limiter.run("ann", ({ decision }) => decision.source, { timeout: "20s" });
  expect(await waiting).toBe("local");
  await expect(limiter.release(before)).rejects.toMatchObject({
    code: "HEADGATE_STORE_UNAVAILABLE",
  });
  away.thaw();
  await waitUntil("it can be given back", 10_000, async () => {
    await limiter.release(before);
    return true;
  });
  const left = async () => (await limiter.peek("ann", { cost: 0 })).remaining;
  await expect.poll(left, { timeout: 10_000 }).toBe(2);
});

describe("eight processes", () => {
  const script = fileURLToPath(new URL("slot-holder.mjs", import.meta.url));
  const LIMIT = 5;
  let children: ChildProcess[] = [];

  beforeAll(async () => {
    children = Array.from({ length: 8 }, () => fork(script, [server.socket], { execArgv: [] }));
    await Promise.all(children.map((child) => once(child, "message")));
  });
  afterAll(() => {
    for (const child of children) child.kill();
  });

  test("eight processes never run more than the limit together, and every call gets its turn", async () => {
    const results = children.map((child) => once(child, "message"));
    for (const child of children) child.send({ limit: LIMIT, runs: 12 });
    const answers = (await Promise.all(results)).map(
      ([answer]) => answer as { most: number; done: number },
    );
    expect(answers.reduce((sum, { done }) => sum + done, 0)).toBe(8 * 12);
    expect(Math.max(...answers.map(({ most }) => most))).toBe(LIMIT);
    expect((await redis.keys("running")).length).toBe(1);
    expect(await redis.get("running")).toBe("0");
  });
});
