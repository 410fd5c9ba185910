import type { Limit } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { connectOwnDatabase, useOwnDatabase } from "../support/own-database.ts";
import { commandsOf } from "./commands-of.ts";
import { STORE_ALONE } from "./store-alone.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = 1_800_000_000_000_000n;

const redis = useOwnDatabase();
beforeEach(() => redis.flushdb());

interface Settings {
  readonly clock?: () => number;
  readonly blockOn?: "settle";
  readonly denyCache?: boolean;
  readonly name?: string;
}

function open(limits: Limit | Limit[], { clock, ...settings }: Settings = {}) {
  const store = redisStore(redis, clock && { clock });
  const limiter = createLimiter({ ...STORE_ALONE, name: "login", limits, store, ...settings });
  onTestFinished(() => limiter.close());
  return limiter;
}

const counterKey = async () => (await redis.keys("*")).find((key) => !/:log\d$/.test(key)) ?? "";

const guarded = fixedWindow({ limit: 2, window: "1h", block: ["1m", "6h"] });

test("a counter lives until its block level expires, and is short again after that", async () => {
  const limiter = open(guarded);
  await limiter.consume("u");
  const key = await counterKey();
  const width = await redis.strlen(key);
  expect(await redis.pttl(key)).toBeLessThan(3 * HOUR_MS);
  await limiter.consume("u");
  await limiter.consume("u");
  expect(await redis.strlen(key)).toBe(width + 16);
  // A minute, and the hour of the window.
  expect(await redis.pttl(key)).toBeGreaterThan(HOUR_MS);
  await limiter.unblock("u");
  await limiter.consume("u", { cost: 2 });
  await limiter.consume("u");
  // Six hours, and as many without another block.
  expect(await redis.pttl(key)).toBeGreaterThan(12 * HOUR_MS);
  expect(await redis.pttl(key)).toBeLessThan(30 * HOUR_MS);
});

test("a manual block creates a key that lives as long as the block", async () => {
  const limiter = open(slidingLog({ limit: 2, window: "1s" }));
  await limiter.block("u", "2d");
  expect(await redis.pttl(await counterKey())).toBeGreaterThan(2 * DAY_MS);
  expect(await limiter.unblock("u")).toBe(true);
  expect(await redis.pttl(await counterKey())).toBeLessThan(10_000);
});

test("a sliding log lives as long as the block of its counter, with its entries", async () => {
  const limiter = open([
    slidingLog({ limit: 3, window: "1s", name: "log" }),
    slidingLog({ limit: 100, window: "10s", name: "more" }),
  ]);
  await limiter.consume("u", { cost: 3 });
  await limiter.block("u", "1d");
  const lives = await Promise.all((await redis.keys("*")).map((key) => redis.pttl(key)));
  expect(lives).toHaveLength(3);
  expect(Math.min(...lives)).toBeGreaterThan(DAY_MS);
});

test.each([
  [
    "a limit",
    async (limiter: ReturnType<typeof open>) => void (await limiter.consume("u", { cost: 2 })),
  ],
  ["hand", async (limiter: ReturnType<typeof open>) => limiter.block("u", "1m")],
])("if the clock steps back, a block by %s does not become longer", async (_, block) => {
  const time = new MicroClock(START);
  const limiter = open(guarded, { clock: time.clock });
  const taken = await limiter.consume("u");
  await block(limiter);
  time.now += 10_000_000n;
  expect(await limiter.peek("u")).toMatchObject({ blocked: true, retryAfterMs: 50_000 });
  time.now = START - 3_600_000_000n;
  // A peek changes nothing, and a request keeps the block as of now.
  expect(await limiter.peek("u")).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  expect(await limiter.consume("u")).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  time.now += 20_000_000n;
  expect(await limiter.peek("u")).toMatchObject({ blocked: true, retryAfterMs: 40_000 });
  expect(await limiter.refund(taken)).toBe(false);
  time.now += 40_000_000n;
  expect(await limiter.peek("u")).toMatchObject({ blocked: false });
});

test("a reset after the clock stepped back keeps the duration of a manual block", async () => {
  const time = new MicroClock(START);
  const limiter = open(guarded, { clock: time.clock });
  await limiter.block("u", "1m");
  time.now = START - 3_600_000_000n;
  expect(await limiter.reset("u")).toBe(true);
  expect(await limiter.consume("u")).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  time.now += 60_000_000n;
  expect(await limiter.consume("u", { cost: 2 })).toMatchObject({ allowed: true });
});

test("whether a limit blocks is part of the key, but not the duration", async () => {
  for (const [name, limits] of [
    ["one", fixedWindow({ limit: 2, window: "1h" })],
    ["two", fixedWindow({ limit: 2, window: "1h", block: "1m" })],
    ["three", fixedWindow({ limit: 2, window: "1h", block: ["1h", "2h"] })],
  ] as const) {
    await open(limits, { name }).consume("u");
  }
  const keys = (await redis.keys("*")).map((key) => key.split(":"));
  const fingerprintOf = (name: string) => keys.find((parts) => parts[2] === name)?.at(-1);
  expect(fingerprintOf("one")).not.toBe(fingerprintOf("two"));
  expect(fingerprintOf("two")).toBe(fingerprintOf("three"));
});

test("a key of a wrong type is neither blocked nor unblocked", async () => {
  const limiter = open(guarded);
  await limiter.consume("u");
  const key = await counterKey();
  await redis.del(key);
  await redis.rpush(key, "of others");
  await expect(limiter.block("u", "1h")).rejects.toMatchObject({ code: "HEADGATE_WRONG_TYPE" });
  await expect(limiter.unblock("u")).rejects.toMatchObject({ code: "HEADGATE_WRONG_TYPE" });
  expect(await redis.lrange(key, 0, -1)).toEqual(["of others"]);
});

describe("blocks on confirmed charges", () => {
  const settle = { blockOn: "settle" } as const;

  test('with blockOn "settle", a counter is four bytes longer and lives as long as others', async () => {
    for (const [name, settings] of [
      ["one", {}],
      ["two", settle],
      ["three", settle],
    ] as const) {
      const limits = name === "three" ? { ...guarded, limit: 20, block: "2h" as const } : guarded;
      await open(limits, { name, ...settings }).consume("u");
    }
    const keyOf = async (name: string) =>
      (await redis.keys("*")).find((key) => key.split(":")[2] === name) ?? "";
    const fingerprintOf = async (name: string) => (await keyOf(name)).split(":").at(-1);
    expect(await fingerprintOf("one")).not.toBe(await fingerprintOf("two"));
    expect(await fingerprintOf("two")).toBe(await fingerprintOf("three"));
    const width = await redis.strlen(await keyOf("one"));
    expect(await redis.strlen(await keyOf("two"))).toBe(width + 4);
    const limiter = open(guarded, { name: "two", ...settle });
    for (let i = 0; i < 2; i += 1) await limiter.settle(await limiter.consume("v"), 1);
    const blocked = (await redis.keys("*{v}*"))[0] ?? "";
    expect(await redis.strlen(blocked)).toBe(width + 4 + 16);
    expect(await redis.pttl(blocked)).toBeGreaterThan(HOUR_MS);
  });

  test("confirming is a call of its own, and refunding is unchanged", async () => {
    const callsOf = async (limiter: ReturnType<typeof open>, units: number) => {
      await limiter.settle(await limiter.consume("u"), units);
      const decision = await limiter.consume("u");
      const { commands } = await commandsOf(redis, () => limiter.settle(decision, units));
      return commands.filter(([name]) => name === "EVALSHA").length;
    };
    const many = { ...guarded, limit: 100 };
    const kept = open(many, { name: "kept", ...settle });
    const plain = open(many, { name: "plain" });
    for (const [limiter, units, calls] of [
      [kept, 1, 1],
      [kept, 0, 1],
      [kept, 3, 2],
      [plain, 1, 0],
      [plain, 0, 1],
      [plain, 3, 1],
    ] as const) {
      expect([units, await callsOf(limiter, units)]).toEqual([units, calls]);
    }
  });

  test("a block by a confirmed charge drops the cached decisions of its subject", async () => {
    const limiter = open(guarded, { denyCache: true, ...settle });
    const held = [await limiter.consume("u"), await limiter.consume("u")];
    for (const source of ["store", "deny-cache"]) {
      expect(await limiter.consume("u")).toMatchObject({ blocked: false, source });
    }
    for (const decision of held) await limiter.settle(decision, 1);
    const blocked = { blocked: true, retryAfterMs: expect.closeTo(60_000, -3) };
    expect(await limiter.consume("u")).toMatchObject({ ...blocked, source: "store" });
    expect(await limiter.consume("u")).toMatchObject({ ...blocked, source: "deny-cache" });
  });

  test("a confirmation that the store did not receive counts nowhere, and blocks no subject", async () => {
    const client = connectOwnDatabase({ maxRetriesPerRequest: 0 });
    const store = redisStore(client);
    const limiter = createLimiter({ name: "login", limits: guarded, store, ...settle });
    onTestFinished(() => limiter.close());
    const held = [await limiter.consume("u"), await limiter.consume("u")];
    client.disconnect();
    for (const decision of held) {
      const settled = { charged: 1, overflow: 0, degraded: true };
      expect(await limiter.settle(decision, 1)).toEqual(settled);
    }
    // Local counts set no block either.
    for (let i = 0; i < 4; i += 1) {
      const local = await limiter.consume("v");
      expect(local).toMatchObject({ source: "local", blocked: false, allowed: i < 2 });
      await limiter.settle(local, 1);
    }
    const other = open(guarded, settle);
    expect(await other.consume("u")).toMatchObject({ allowed: false, blocked: false });
  });

  test("nothing is confirmed in a key of a wrong type", async () => {
    const limiter = open(guarded, settle);
    const decision = await limiter.consume("u");
    const key = await counterKey();
    await redis.del(key);
    await redis.rpush(key, "of others");
    const wrong = { code: "HEADGATE_WRONG_TYPE" };
    await expect(limiter.settle(decision, 1)).rejects.toMatchObject(wrong);
    expect(await redis.lrange(key, 0, -1)).toEqual(["of others"]);
  });

  test("confirmed units of a counter that the server lost count from zero", async () => {
    const limiter = open(guarded, settle);
    const held = [await limiter.consume("u"), await limiter.consume("u")];
    await redis.flushdb();
    for (const decision of held) await limiter.settle(decision, 1);
    expect(await limiter.consume("u")).toMatchObject({ blocked: true });
  });

  test("if the clock steps back, later confirmations count, and do not block longer", async () => {
    const time = new MicroClock(START);
    const limiter = open(guarded, { clock: time.clock, ...settle });
    const held = await limiter.consume("u");
    await limiter.settle(await limiter.consume("u"), 1);
    time.now -= 3_600_000_000n;
    await limiter.settle(held, 1);
    expect(await limiter.consume("u")).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
    time.now -= 3_600_000_000n;
    expect(await limiter.consume("u")).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  });
});

describe("the deny cache", () => {
  const cached = { blocked: true, source: "deny-cache" };

  test("the deny cache caches a denial by a block", async () => {
    const limiter = open(guarded, { denyCache: true });
    await limiter.consume("u", { cost: 2 });
    expect(await limiter.consume("u")).toMatchObject({ blocked: true, source: "store" });
    expect(await limiter.consume("u")).toMatchObject({ ...cached, remaining: 0 });
    expect(await limiter.consume("u", { cost: 2 })).toMatchObject({ source: "store" });
    expect(await limiter.unblock("u")).toBe(true);
    expect(await limiter.consume("u")).toMatchObject({ allowed: true, blocked: false });
  });

  test("the deny cache hides no denial that sets a block: denials of peek and wait set none", async () => {
    const limiter = open(guarded, { denyCache: true });
    await limiter.consume("u", { cost: 2 });
    expect(await limiter.peek("u")).toMatchObject({ allowed: false, blocked: false });
    await expect(limiter.wait("u", { timeout: 50 })).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
    expect(await limiter.peek("u")).toMatchObject({ allowed: false, blocked: false });
    expect(await limiter.consume("u")).toMatchObject({ blocked: true, source: "store" });
  });

  test("a manual block or unblock drops cached denials, in other processes within a second", async () => {
    const limits = gcra({ limit: 2, window: "1h" });
    const [one, other] = [open(limits, { denyCache: true }), open(limits, { denyCache: true })];
    await one.consume("u", { cost: 2 });
    expect(await one.consume("u")).toMatchObject({ blocked: false, source: "store" });
    expect(await one.consume("u")).toMatchObject({ blocked: false, source: "deny-cache" });
    await one.block("u", "1d");
    expect(await one.consume("u")).toMatchObject({ blocked: true, source: "store" });
    expect(await other.consume("u")).toMatchObject({ ...cached, retryAfterMs: expect.any(Number) });
  });

  test("another process caches a block for a second, and no longer", async () => {
    const second = connectOwnDatabase();
    onTestFinished(() => void second.disconnect());
    const time = new MicroClock(START);
    const limits = gcra({ limit: 2, window: "1h" });
    const one = open(limits, { clock: time.clock });
    const other = createLimiter({
      name: "login",
      limits,
      store: redisStore(second, { clock: time.clock }),
      storeTimeout: "1m",
    });
    await one.block("u", "1d");
    expect(await other.consume("u")).toMatchObject({ blocked: true, source: "store" });
    await one.unblock("u");
    time.now += 999_999n;
    expect(await other.consume("u")).toMatchObject(cached);
    time.now += 1n;
    expect(await other.consume("u")).toMatchObject({ allowed: true, source: "store" });
  });
});

test("a degraded denial sets no block, and a block in the store does not affect degraded decisions", async () => {
  const client = connectOwnDatabase({ maxRetriesPerRequest: 0 });
  const limiter = createLimiter({ name: "login", limits: guarded, store: redisStore(client) });
  onTestFinished(() => limiter.close());
  await limiter.block("u", "1d");
  expect(await limiter.consume("u")).toMatchObject({ blocked: true });
  client.disconnect();
  // At another cost, of which the deny cache knows nothing.
  const local = { source: "local", blocked: false };
  expect(await limiter.consume("u", { cost: 2 })).toMatchObject({ ...local, allowed: true });
  expect(await limiter.consume("v", { cost: 2 })).toMatchObject({ ...local, allowed: true });
  for (let i = 0; i < 3; i += 1) {
    const denied = await limiter.consume("v");
    expect(denied).toMatchObject({ ...local, allowed: false });
    expect(denied.retryAfterMs).toBeGreaterThan(HOUR_MS / 2);
  }
  const unavailable = { code: "HEADGATE_STORE_UNAVAILABLE" };
  await expect(limiter.block("u", "1h")).rejects.toMatchObject(unavailable);
  await expect(limiter.unblock("u")).rejects.toMatchObject(unavailable);
});
