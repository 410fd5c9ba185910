import type { Decision, Limit, Limiter, LimitState } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { ALGORITHMS, HOUR, MINUTE, RECOVERY_TIMES, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const SUBJECT = "customer";

/** The most units of a counter, and the most entries of a log. */
const MOST = 2_000_000_000;
const ENTRIES = 1_048_576;

describeStores((tested) => {
  function open(limits: Limit | readonly Limit[]): { time: MicroClock; limiter: Limiter } {
    const time = new MicroClock(START);
    const store = tested.open(time.clock);
    return { time, limiter: createLimiter({ ...STORE_ALONE, name: "charged", limits, store }) };
  }

  describe.each(Object.entries(ALGORITHMS))("%s", (name, per) => {
    const [first, all] = RECOVERY_TIMES[name] as readonly [bigint, bigint];

    test("charge takes more than is left, and the overdraft is not forgiven", async () => {
      const { time, limiter } = open(per(10));
      expect(await limiter.charge(SUBJECT, { cost: 4 })).toEqual(charged(4));
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 6 });
      expect(await limiter.charge(SUBJECT, { cost: 496 })).toEqual(charged(496));
      const denied = await limiter.consume(SUBJECT);
      expect(denied).toMatchObject({ allowed: false, remaining: 0 });
      expect(stateOf(denied)).toMatchObject({
        overdrawn: 490,
        retryAfterMs: Number(first / 1_000n),
        resetAfterMs: Number(all / 1_000n),
      });
      time.now = START + first - 1n;
      expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      time.advance(1n);
      expect(await limiter.peek(SUBJECT)).toMatchObject({ allowed: true });
      time.now = START + all;
      const { remaining, resetAfterMs } = await limiter.peek(SUBJECT, { cost: 0 });
      expect([remaining, resetAfterMs]).toEqual([10, 0]);
    });

    test("charge takes one unit by default", async () => {
      const { limiter } = open(per(10));
      expect(await limiter.charge(SUBJECT)).toEqual(charged(1));
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 9 });
    });

    test("a limit holds 2,000,000,000 units, and charge reports the overflow", async () => {
      const { limiter } = open(per(10));
      await limiter.charge(SUBJECT, { cost: 7 });
      expect(await limiter.charge(SUBJECT, { cost: MOST })).toEqual({
        charged: MOST - 7,
        overflow: 7,
        degraded: false,
      });
      expect(await limiter.charge(SUBJECT, { cost: Number.MAX_SAFE_INTEGER })).toEqual({
        charged: 0,
        overflow: Number.MAX_SAFE_INTEGER,
        degraded: false,
      });
      expect(stateOf(await limiter.consume(SUBJECT))).toMatchObject({ overdrawn: MOST - 10 });
    });

    test("settle accepts less, the same or more, once", async () => {
      const { time, limiter } = open(per(10));
      const [less, same, more] = [
        await limiter.consume(SUBJECT, { cost: 3 }),
        await limiter.consume(SUBJECT, { cost: 3 }),
        await limiter.consume(SUBJECT, { cost: 3 }),
      ];
      expect(await limiter.settle(less, 1)).toEqual(charged(1));
      expect(await limiter.settle(same, 3)).toEqual(charged(3));
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 3 });
      expect(await limiter.settle(more, 20)).toEqual(charged(20));
      for (const decision of [less, same, more]) {
        expect(await limiter.settle(decision, 0)).toEqual(charged(0));
        expect(await limiter.refund(decision)).toBe(false);
      }
      expect(stateOf(await limiter.consume(SUBJECT))).toMatchObject({ overdrawn: 14 });
      time.advance(2n * HOUR);
      await limiter.reset(SUBJECT);
      const free = await limiter.consume(SUBJECT, { cost: 10 });
      expect(await limiter.settle(free, 0)).toEqual(charged(0));
      expect(stateOf(await limiter.peek(SUBJECT, { cost: 0 })).resetAfterMs).toBe(0);
    });

    test("settle charges the difference also after a reset and after full recovery", async () => {
      const { time, limiter } = open(per(10));
      const early = await limiter.consume(SUBJECT, { cost: 2 });
      const late = await limiter.consume(SUBJECT, { cost: 2 });
      await limiter.reset(SUBJECT);
      expect(await limiter.settle(early, 5)).toEqual(charged(5));
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 7 });
      time.now = START + all;
      expect(await limiter.settle(late, 8)).toEqual(charged(8));
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 4 });
    });
  });

  test("charge fills each of several limits as far as it can hold", async () => {
    const { limiter } = open(
      Object.values(ALGORITHMS).map((per, i) => ({ ...per(10), name: `limit ${i}` })),
    );
    expect(await limiter.charge(SUBJECT, { cost: 25 })).toEqual(charged(25));
    const { limits } = await limiter.peek(SUBJECT, { cost: 0 });
    expect(limits.map(({ overdrawn }) => overdrawn)).toEqual(limits.map(() => 15));
  });

  test("a charge keeps the earlier entries of a sliding log", async () => {
    const { time, limiter } = open(slidingLog({ limit: 10, window: "1h" }));
    for (const minute of [0, 1, 2]) {
      time.now = START + BigInt(minute) * MINUTE;
      // The third is denied.
      await limiter.consume(SUBJECT, { cost: 2 });
      await limiter.charge(SUBJECT, { cost: 3 });
    }
    const states: LimitState[] = [];
    for (const minute of [59, 60, 61, 62]) {
      time.now = START + BigInt(minute) * MINUTE;
      states.push(stateOf(await limiter.peek(SUBJECT, { cost: 0 })));
    }
    expect(states.map(({ overdrawn }) => overdrawn)).toEqual([3, 0, 0, 0]);
    expect(states.map(({ remaining }) => remaining)).toEqual([0, 2, 7, 10]);
  });
});

test("in memory, a full sliding log takes a charge as its last entry, and cuts the next", async () => {
  const time = new MicroClock(START);
  const most = 1_000_000;
  const limiter = createLimiter({
    name: "charged",
    limits: slidingLog({ limit: most, window: "1h" }),
    store: memoryStore({ clock: time.clock }),
  });
  for (let entry = 0; entry < most; entry += 1) await limiter.consume(SUBJECT);
  for (let entry = most + 1; entry < ENTRIES; entry += 1) await limiter.charge(SUBJECT);
  expect(await limiter.charge(SUBJECT)).toEqual(charged(1));
  expect(await limiter.charge(SUBJECT, { cost: 5 })).toEqual({ ...charged(0), overflow: 5 });
});

describe("on Redis", () => {
  const redis = useOwnDatabase();

  async function keyUnder(prefix: string, isLog = false): Promise<string> {
    const keys = await redis.keys(`${prefix}:*`);
    return keys.find((key) => key.includes(":log") === isLog) ?? "";
  }

  test("a full sliding log takes a charge as its last entry, and cuts the next", async () => {
    const time = new MicroClock(START);
    const store = redisStore(redis, { clock: time.clock, prefix: "entries" });
    const limits = slidingLog({ limit: 1_000_000, window: "1h" });
    const limiter = createLimiter({ ...STORE_ALONE, name: "charged", limits, store });
    await limiter.charge(SUBJECT);
    // As many charges as leave room for one more: where the oldest is, how many, slots, the total before them and through them.
    const count = ENTRIES - 1;
    const numbers = Buffer.alloc(24);
    numbers.writeUInt32BE(count, 4);
    numbers.writeUInt32BE(ENTRIES + 10, 8);
    numbers.writeUIntBE(count, 18, 6);
    await redis.setrange(await keyUnder("entries"), 15, numbers);
    const entries = Buffer.alloc((ENTRIES + 10) * 13);
    for (let i = 0; i < count; i += 1) entries.writeUIntBE(i + 1, i * 13 + 7, 6);
    await redis.set(await keyUnder("entries", true), entries);
    expect(await limiter.charge(SUBJECT)).toEqual(charged(1));
    expect(await limiter.charge(SUBJECT, { cost: 5 })).toEqual({ ...charged(0), overflow: 5 });
    expect(stateOf(await limiter.peek(SUBJECT, { cost: 0 })).overdrawn).toBe(ENTRIES - 1_000_000);
  });

  test.each(Object.entries(ALGORITHMS))(
    "a key of %s lives as long as the debt",
    async (name, per) => {
      const prefix = `lives-${name.replaceAll(" ", "-")}`;
      const limiter = createLimiter({
        ...STORE_ALONE,
        name: "charged",
        limits: per(10),
        store: redisStore(redis, { prefix }),
      });
      await limiter.consume(SUBJECT);
      await limiter.charge(SUBJECT, { cost: 5_000 });
      const { resetAfterMs } = await limiter.consume(SUBJECT);
      expect(await redis.pttl(await keyUnder(prefix))).toBeGreaterThan(resetAfterMs);
      const log = await keyUnder(prefix, true);
      if (log !== "") expect(await redis.pttl(log)).toBeGreaterThan(resetAfterMs);
    },
  );

  test.each(Object.entries(ALGORITHMS))(
    "a charge of %s after the clock stepped back keeps what was owed, in a new generation",
    async (name, per) => {
      const time = new MicroClock(START + 10n * MINUTE);
      const prefix = `steps-${name.replaceAll(" ", "-")}`;
      const store = redisStore(redis, { clock: time.clock, prefix });
      const limiter = createLimiter({ ...STORE_ALONE, name: "charged", limits: per(10), store });
      const before = await limiter.consume(SUBJECT, { cost: 2 });
      await limiter.charge(SUBJECT, { cost: 18 });
      time.now -= 3n * MINUTE;
      expect(await limiter.charge(SUBJECT, { cost: 5 })).toEqual(charged(5));
      expect(stateOf(await limiter.consume(SUBJECT))).toMatchObject({ overdrawn: 15 });
      // As late as the first charge says it came.
      time.now += 3n * MINUTE;
      await limiter.charge(SUBJECT);
      const owed = await limiter.peek(SUBJECT, { cost: 0 });
      expect(await limiter.settle(before, 0)).toEqual(charged(0));
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toEqual(owed);
    },
  );

  test("a key of the wrong type is an error, and no other limit is charged", async () => {
    const store = redisStore(redis, { prefix: "types" });
    const limits = [
      { ...(ALGORITHMS["gcra"]?.(10) as Limit), per: "user" },
      { ...(ALGORITHMS["slidingLog"]?.(10) as Limit), per: "tenant" },
    ];
    const limiter = createLimiter({ ...STORE_ALONE, name: "charged", limits, store });
    const who = { user: "ada", tenant: "acme" };
    const decision = await limiter.consume(who);
    const keys = await redis.keys("types:*");
    const [user = "", tenant = ""] = ["user", "tenant"].map((per) =>
      keys.find((key) => key.includes(`:${per}:`) && !key.includes(":log")),
    );
    const before = await redis.getBuffer(user);
    await redis.del(tenant);
    await redis.lpush(tenant, "something else");
    const wrongType = { code: "HEADGATE_WRONG_TYPE" };
    await expect(limiter.charge(who, { cost: 3 })).rejects.toMatchObject(wrongType);
    await expect(limiter.settle(decision, 5)).rejects.toMatchObject(wrongType);
    expect(await redis.getBuffer(user)).toEqual(before);
  });
});

function charged(units: number): object {
  return { charged: units, overflow: 0, degraded: false };
}

function stateOf({ limits }: Decision): LimitState {
  return limits[0] as LimitState;
}
