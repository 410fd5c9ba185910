import type { Decision, Limit, LimitState } from "@headgate/core";
import { gcra, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, inject, test } from "vitest";
import { KINDS, randomLimit, withOtherValues } from "../random/limits.ts";
import { randomStart } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { ALGORITHMS, HOUR, MINUTE, RECOVERY_TIMES, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const SUBJECT = "customer";

describeStores((tested) => {
  function open(limit: Limit): { time: MicroClock; deployed: DeployedLimiter } {
    const time = new MicroClock(START);
    return { time, deployed: new DeployedLimiter(tested.open(time.clock), [limit]) };
  }

  describe.each(Object.entries(ALGORITHMS))("%s", (name, per) => {
    const [first, all] = RECOVERY_TIMES[name] as readonly [bigint, bigint];

    test("30 used of 30, raised to 1,000, leave 970", async () => {
      const { deployed } = open(per(30));
      await deployed.consume(SUBJECT, 30);
      expect(await deployed.consume(SUBJECT)).toMatchObject({ allowed: false, remaining: 0 });
      await deployed.deploy([per(1_000)]);
      expect(stateOf(await deployed.peek(SUBJECT, 0))).toMatchObject({
        limit: 1_000,
        remaining: 970,
        overdrawn: 0,
      });
      expect(await deployed.consume(SUBJECT, 971)).toMatchObject({ allowed: false });
      expect(await deployed.consume(SUBJECT, 970)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await deployed.consume(SUBJECT)).toMatchObject({ allowed: false });
    });

    test("500 used of 500, lowered to 10, are overdrawn by 490, and not forgiven", async () => {
      const { deployed } = open(per(500));
      await deployed.consume(SUBJECT, 500);
      await deployed.deploy([per(10)]);
      const lowered = await deployed.consume(SUBJECT);
      expect(lowered).toMatchObject({ allowed: false, limit: 10, remaining: 0 });
      expect(stateOf(lowered)).toMatchObject({
        remaining: 0,
        overdrawn: 490,
        retryAfterMs: Number(first / 1_000n),
        refillAfterMs: Number(first / 1_000n),
        resetAfterMs: Number(all / 1_000n),
      });
      // A peek is not denied.
      expect(await deployed.peek(SUBJECT, 0)).toMatchObject({ allowed: true, retryAfterMs: 0 });
      expect(stateOf(await deployed.consume(SUBJECT, 11)).retryAfterMs).toBe(
        Number.POSITIVE_INFINITY,
      );
      // Back again, it is all there.
      await deployed.deploy([per(500)]);
      expect(stateOf(await deployed.peek(SUBJECT, 0))).toMatchObject({
        remaining: 0,
        overdrawn: 0,
      });
    });

    test("recovery under a lowered limit does not forgive the overdraft", async () => {
      const { deployed } = open(per(10));
      const charged = await deployed.consume(SUBJECT, 5);
      await deployed.deploy([per(500)]);
      await deployed.consume(SUBJECT, 495);
      expect(await deployed.refund(charged)).toBe(true);
      expect(stateOf(await deployed.peek(SUBJECT, 0))).toMatchObject({ remaining: 5 });
      await deployed.deploy([per(10)]);
      expect(stateOf(await deployed.consume(SUBJECT))).toMatchObject({ overdrawn: 485 });
    });

    test("a lowered limit admits after its retryAfter, and not a microsecond before", async () => {
      const { time, deployed } = open(per(500));
      await deployed.consume(SUBJECT, 500);
      await deployed.deploy([per(10)]);
      const reported = stateOf(await deployed.consume(SUBJECT));

      // For one unit, the wait and the time to the next refill are equal.
      expect(reported.refillAfterMs).toBe(reported.retryAfterMs);
      time.now = START + BigInt(reported.retryAfterMs) * 1_000n - 1n;
      expect(await deployed.consume(SUBJECT)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect(await deployed.peek(SUBJECT, 0)).toMatchObject({ remaining: 0 });
      time.advance(1n);
      expect(await deployed.peek(SUBJECT)).toMatchObject({ allowed: true });
      const { remaining } = await deployed.peek(SUBJECT, 0);
      expect(remaining).toBeGreaterThan(0);
    });

    test("a lowered limit has fully recovered after its resetAfter, and not a microsecond before", async () => {
      const { time, deployed } = open(per(500));
      await deployed.consume(SUBJECT, 500);
      await deployed.deploy([per(10)]);
      const reported = stateOf(await deployed.consume(SUBJECT));
      time.now = START + BigInt(reported.resetAfterMs) * 1_000n - 1n;
      expect(stateOf(await deployed.peek(SUBJECT, 0)).resetAfterMs).toBe(1);
      time.advance(1n);
      expect(stateOf(await deployed.peek(SUBJECT, 0))).toMatchObject({
        remaining: 10,
        overdrawn: 0,
        resetAfterMs: 0,
        refillAfterMs: 0,
      });
    });
  });

  test.each(["gcra", "tokenBucket"])("%s drains by the number in force", async (name) => {
    const per = ALGORITHMS[name] as (limit: number) => Limit;
    const { time, deployed } = open(per(500));
    await deployed.consume(SUBJECT, 500);
    await deployed.deploy([per(10)]);
    for (const overdrawn of [490, 480, 470]) {
      expect(stateOf(await deployed.consume(SUBJECT))).toMatchObject({ overdrawn, remaining: 0 });
      time.advance(HOUR);
    }
  });

  test("the overdraft of a slidingLog drains as its entries age", async () => {
    const { time, deployed } = open(slidingLog({ limit: 500, window: "1h" }));
    for (let minute = 0; minute < 5; minute += 1) {
      await deployed.consume(SUBJECT, 100);
      time.advance(MINUTE);
    }
    await deployed.deploy([slidingLog({ limit: 250, window: "1h" })]);
    time.now = START + 60n * MINUTE - 1n;
    const states: LimitState[] = [];
    for (let minute = 0; minute < 6; minute += 1) {
      states.push(stateOf(await deployed.peek(SUBJECT, 0)));
      time.advance(MINUTE);
    }
    expect(states.map(({ overdrawn, remaining }) => [overdrawn, remaining])).toEqual([
      [250, 0],
      [150, 0],
      [50, 0],
      [0, 50],
      [0, 150],
      [0, 250],
    ]);
    expect(states.map(({ refillAfterMs }) => refillAfterMs)).toEqual([120_001, 60_001, 1, 1, 1, 0]);
  });

  test.each(KINDS.filter((kind) => kind.includes("Window")))(
    "%s denies for at most two windows, however far it was lowered",
    async (kind) => {
      await tested.run(24, async (random) => {
        const limit = randomLimit(random, kind, "wide");
        const time = new MicroClock(randomStart(random));
        const deployed = new DeployedLimiter(tested.open(time.clock), [limit]);
        let last = await deployed.consume(SUBJECT);
        for (let step = 0; step < 4; step += 1) {
          const { windowMs } = stateOf(last);
          time.advance(BigInt(random.whole(0, windowMs * 1_000)));
          last = await deployed.consume(SUBJECT, Math.max(1, last.remaining));
        }
        const lowered = withOtherValues(random, limit);
        await deployed.deploy([lowered]);
        const { retryAfterMs, windowMs, limit: most } = stateOf(await deployed.consume(SUBJECT, 1));
        const context = () => `${retryAfterMs} ms of ${JSON.stringify([limit, lowered])}`;
        if (most === 0) {
          claim(retryAfterMs === Number.POSITIVE_INFINITY, context);
          return;
        }
        claim(retryAfterMs <= windowMs * 2, context);
        if (!time.advance(BigInt(windowMs) * 2_000n)) return;
        const { remaining, allowed } = await deployed.peek(SUBJECT, 0);
        claim(allowed && remaining === most, context);
      });
    },
  );
});

describe("usage from a limit with a faster refill", () => {
  const fast = gcra({ limit: 500, window: "1s" });
  const slow = gcra({ limit: 1, window: "1s", burst: 10 });

  test("is kept in memory beyond the time the faster refill needed", async () => {
    const time = new MicroClock(START);
    const store = memoryStore({ clock: time.clock });
    const deployed = new DeployedLimiter(store, [fast]);
    await deployed.consume(SUBJECT, 500);
    await deployed.deploy([slow]);
    await deployed.consume(SUBJECT);
    time.advance(30_000_000n);
    // Requests of other subjects sweep expired counters.
    for (let other = 0; other < 10; other += 1) await deployed.consume(`other ${other}`);
    expect(stateOf(await deployed.consume(SUBJECT))).toMatchObject({ overdrawn: 460 });
  });

  test("is kept on Redis beyond the time the faster refill needed", async () => {
    const redis = new Redis(inject("redisSocket"));
    const prefix = "faster";
    const deployed = new DeployedLimiter(redisStore(redis, { prefix }), [fast]);
    await deployed.consume(SUBJECT, 500);
    const [key = ""] = await redis.keys(`${prefix}:*`);
    expect(await redis.pttl(key)).toBeLessThan(4_000);
    await deployed.deploy([slow]);
    const { retryAfterMs } = await deployed.consume(SUBJECT);
    expect(retryAfterMs).toBeGreaterThan(400_000);
    expect(await redis.pttl(key)).toBeGreaterThan(retryAfterMs);
    // Once is enough: a denial writes nothing where the key lives.
    const before = await redis.dumpBuffer(key);
    expect(await deployed.consume(SUBJECT)).toMatchObject({ allowed: false });
    expect(await redis.dumpBuffer(key)).toEqual(before);
    await redis.del(key);
    await redis.quit();
  });
});

function stateOf({ limits }: Decision): LimitState {
  return limits[0] as LimitState;
}
