import type { Limit, ThresholdReached } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { ThresholdRecorder } from "../conformance/support/record-thresholds.ts";
import { useLosableRedis } from "../http/support/losable-redis.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { commandsOf } from "./commands-of.ts";
import { STORE_ALONE } from "./store-alone.ts";

const redis = useOwnDatabase();
const away = useLosableRedis();
const notifyAt = [0.5, 0.8, 1];
const isLong = process.env["HEADGATE_LONG"] === "1";

const limit = 100;
const RACED: Record<string, Limit | Limit[]> = {
  gcra: gcra({ limit, window: "366d", notifyAt }),
  fixedWindow: fixedWindow({ limit, window: "366d", notifyAt }),
  "fixedWindow by the calendar": fixedWindow({ limit, window: "year", notifyAt }),
  slidingWindow: slidingWindow({ limit, window: "366d", notifyAt }),
  "slidingWindow in buckets": slidingWindow({ limit, window: "366d", buckets: 10, notifyAt }),
  slidingLog: slidingLog({ limit, window: "366d", notifyAt }),
  "several limits": [
    fixedWindow({ name: "one", limit, window: "366d", notifyAt }),
    slidingLog({ name: "two", limit: 2 * limit, window: "366d", notifyAt: [0.5] }),
    gcra({ name: "three", limit: 3 * limit, window: "366d" }),
  ],
};

describe("six clients that use up a limit at once", () => {
  test.each(Object.entries(RACED))(
    "of six clients that use up a limit at once, one is notified of each threshold: %s",
    async (kind, limits) => {
      const recorded = new ThresholdRecorder();
      const clients = Array.from({ length: 6 }, () => redis.duplicate());
      for (let round = 0; round < (isLong ? 200 : 20); round += 1) {
        const random = new Random(20_261_126, round);
        const name = `raced ${kind} ${round}`;
        const limiters = clients.map((client) =>
          createLimiter({ ...STORE_ALONE, name, limits, store: redisStore(client) }),
        );
        const costs = Array.from({ length: 150 }, () => random.pick([1, 1, 2, 5]));
        await Promise.all(
          costs.map((cost) => {
            const limiter = random.pick(limiters);
            return random.chance(0.1)
              ? limiter.charge("u", { cost })
              : limiter.consume("u", { cost });
          }),
        );
        const notified = recorded.take(name).map((one) => `${one.name} ${one.threshold}`);
        const [first] = limiters;
        const { limits: states = [] } = (await first?.peek("u", { cost: 0 })) ?? {};
        const expected = states.flatMap((state, i) => {
          const used = state.limit - state.remaining + state.overdrawn;
          const { notifyAt = [] } = [limits].flat()[i] as { notifyAt?: readonly number[] };
          return notifyAt
            .filter((share) => used >= Math.round(share * state.limit))
            .map((share) => `${state.name} ${share}`);
        });
        expect(expected.length).toBeGreaterThan(0);
        expect(notified.toSorted()).toEqual(expected.toSorted());
        for (const limiter of limiters) await limiter.close();
      }
      for (const client of clients) client.disconnect();
    },
  );
});

describe("the cost of thresholds in Redis", () => {
  const limits = fixedWindow({ limit: 10, window: "1h", notifyAt: [0.8] });

  function open(name: string) {
    return createLimiter({ ...STORE_ALONE, name, limits, store: redisStore(redis) });
  }

  const keysOf = async (name: string) => (await redis.keys(`*:${name}:*`)).toSorted();

  test("thresholds read and write nothing until one is reached, and then one key", async () => {
    const limiter = open("kept");
    await limiter.consume("u");
    const below = await commandsOf(redis, () => limiter.consume("u", { cost: 6 }));
    expect(below.commands.map(([name]) => name)).toEqual(["EVALSHA", "TIME", "GET", "SETRANGE"]);
    const [key, ...others] = await keysOf("kept");
    expect(others).toEqual([]);

    const reaches = await commandsOf(redis, () => limiter.consume("u"));
    const mark = `${key}:notified0`;
    expect(reaches.commands.map(([name, of]) => [name, of]).slice(2)).toEqual([
      ["GET", key],
      ["GET", mark],
      ["SET", mark],
      ["SETRANGE", key],
    ]);
    expect(await keysOf("kept")).toEqual([key, mark]);
    expect(await redis.strlen(mark)).toBe(11);
    const ttl = await redis.pttl(mark);
    expect(ttl).toBeGreaterThan(3_500_000);
    expect(ttl).toBeLessThanOrEqual(3_600_001);

    const notified = await commandsOf(redis, () => limiter.consume("u"));
    expect(notified.commands.map(([name]) => name)).toEqual([
      "EVALSHA",
      "TIME",
      "GET",
      "GET",
      "SETRANGE",
    ]);
    await limiter.reset("u");
    expect(await keysOf("kept")).toEqual([]);
  });

  test("a foreign or corrupt threshold mark is replaced", async () => {
    const recorded = new ThresholdRecorder();
    const limiter = open("damaged");
    await limiter.consume("u", { cost: 7 });
    const [key = ""] = await keysOf("damaged");
    const mark = `${key}:notified0`;
    for (const damage of [
      () => redis.lpush(mark, "x"),
      () => redis.set(mark, "short"),
      () => redis.set(mark, Buffer.alloc(11)),
    ]) {
      await redis.del(mark);
      await damage();
      const decision = await limiter.consume("u");
      expect(decision).toMatchObject({ allowed: true, degraded: false });
      expect(recorded.takePairs("damaged")).toEqual([[0.8, 8]]);
      await limiter.refund(decision);
    }
    // One that would last for ever lasts until the window ends.
    await redis.set(mark, Buffer.alloc(11, 255));
    await limiter.consume("u");
    expect(recorded.takePairs("damaged")).toEqual([]);
    expect(await redis.pttl(mark)).toBeLessThanOrEqual(3_600_001);
    const value = await redis.getBuffer(mark);
    expect(value?.readUIntBE(4, 6)).toBeLessThan(((Date.now() + 3_600_001) * 1_000) / 256);
  });
});

test("without Redis no threshold is published, because thresholds follow the counts in Redis", async () => {
  watchWarnings();
  const recorded = new ThresholdRecorder();
  const store = await away.openStore();
  const limits = fixedWindow({ limit: 10, window: "1h", notifyAt });
  const limiter = createLimiter({ name: "away", limits, store, storeTimeout: "500ms" });
  await limiter.consume("u", { cost: 4 });
  away.lose();
  const decisions = await Promise.all(
    Array.from({ length: 12 }, () => limiter.consume("u", { cost: 1 })),
  );
  expect(decisions.every(({ degraded }) => degraded)).toBe(true);
  const charged = await limiter.charge("u", { cost: 5 });
  expect(charged).toMatchObject({ degraded: true });
  expect(recorded.takePairs("away")).toEqual([]);
  await away.restore();
  const { limits: [state] = [] } = await limiter.peek("u", { cost: 0 });
  // The calls in flight were carried out when the server went on; their replies came late, but before that of the peek.
  const late = recorded.takePairs("away");
  const used = 10 - (state?.remaining ?? 10);
  expect(late.map(([threshold]) => threshold)).toEqual(
    notifyAt.filter((share) => used >= share * 10),
  );
  await limiter.close();
});

test("under an override, thresholds are shares of the effective limit", async () => {
  const recorded = new ThresholdRecorder();
  const store = redisStore(redis);
  const limits = fixedWindow({ name: "hour", limit: 10, window: "1h", notifyAt: [0.8] });
  const limiter = createLimiter({ ...STORE_ALONE, name: "overridden", limits, store });
  const admin = createAdmin(store);
  await limiter.consume("u", { cost: 8 });
  expect(recorded.takePairs("overridden")).toEqual([[0.8, 8]]);
  const override = { subject: { default: "u" }, limits: { hour: { limit: 20 } } };
  await admin.setOverride({ limiter: "overridden", ...override }, { for: "1h" });
  await expect.poll(async () => (await limiter.peek("u", { cost: 0 })).limits[0]?.limit).toBe(20);
  await limiter.consume("u", { cost: 7 });
  expect(recorded.takePairs("overridden")).toEqual([]);
  await limiter.consume("u");
  expect(recorded.take("overridden")).toMatchObject([
    { threshold: 0.8, used: 16, limit: 20 } satisfies Partial<ThresholdReached>,
  ]);
  await limiter.close();
});
