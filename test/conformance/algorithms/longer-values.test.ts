import { randomBytes } from "node:crypto";
import type { Decision, Limit } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { connectOwnDatabase } from "../../support/own-database.ts";
import { MicroClock } from "../support/micro-clock.ts";

/*
 * A counter that has a block is 16 bytes longer. A write keeps these bytes while they matter. A value of another length, or with
 * 16 bytes out of range, is garbage.
 */

const DAY = 86_400_000_000;
const YEAR = 366 * DAY;
const START = 1_800_000_000_000_000;
const SUBJECT = "somebody";

const POLICIES: Record<string, Limit | Limit[]> = {
  gcra: gcra({ limit: 10, window: "1h" }),
  fixedWindow: fixedWindow({ limit: 10, window: "1h" }),
  slidingWindow: slidingWindow({ limit: 10, window: "1h" }),
  "slidingWindow in buckets": slidingWindow({ limit: 10, window: "1h", buckets: 6 }),
  slidingLog: slidingLog({ limit: 10, window: "1h" }),
  "several limits": [
    gcra({ limit: 10, window: "1h" }),
    slidingWindow({ limit: 10, window: "1h", buckets: 6, name: "buckets" }),
    fixedWindow({ limit: 10, window: "1d" }),
  ],
};

/** The bytes of a block. Times are in microseconds since the epoch. */
function blockOf({ ends = 0, levelEnds = 0, level = 0, setBy = 0 }): Buffer {
  const bytes = Buffer.alloc(16);
  for (const [at, time] of [
    [0, ends],
    [7, levelEnds],
  ] as const) {
    bytes.writeUIntBE(Math.floor(time / 256), at, 6);
    bytes.writeUInt8(time % 256, at + 6);
  }
  bytes.writeUInt8(level, 14);
  bytes.writeUInt8(setBy, 15);
  return bytes;
}

let redis: Redis;
let prefixes = 0;
beforeAll(() => {
  redis = connectOwnDatabase();
});
afterAll(async () => {
  await redis.flushdb();
  await redis.quit();
});

describe.each(Object.entries(POLICIES))("%s", (_, limits) => {
  async function open(isClockGiven = true) {
    prefixes += 1;
    const prefix = `longer-${prefixes}`;
    const time = new MicroClock(BigInt(START));
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "longer",
      limits,
      store: redisStore(redis, { prefix, ...(isClockGiven && { clock: time.clock }) }),
    });
    const first = await limiter.consume(SUBJECT, { cost: 4 });
    const [key = ""] = (await redis.keys(`${prefix}:*`)).filter((each) => !each.includes(":log"));
    const value = () => redis.getBuffer(key) as Promise<Buffer>;
    const { length } = await value();
    return { limiter, time, first, key, value, length };
  }

  test("a stored block level survives writes until it expires, and changes no decision", async () => {
    const { limiter, time, first, key, value, length } = await open();
    let more = blockOf({ ends: START - 1, levelEnds: START + 10 * DAY, level: 3, setBy: 1 });
    await redis.append(key, more);
    /** Fails unless the bytes of the block follow a value of the same length. */
    const expectKept = async () => {
      const bytes = await value();
      expect(bytes.subarray(length)).toEqual(more);
    };
    expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 6 });
    expect(await limiter.consume(SUBJECT, { cost: 2 })).toMatchObject({ remaining: 4 });
    await expectKept();
    expect(await limiter.consume(SUBJECT, { cost: 5 })).toMatchObject({ allowed: false });
    await expectKept();
    expect(await limiter.refund(first)).toBe(true);
    await expectKept();
    expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 8 });
    // Several at once, which one script decides.
    const batch = await Promise.all([1, 1, 2].map((cost) => limiter.consume(SUBJECT, { cost })));
    expect(batch.map(({ remaining }) => remaining)).toEqual([7, 6, 4]);
    await expectKept();
    expect(await limiter.charge(SUBJECT, { cost: 2 })).toMatchObject({ charged: 2 });
    expect(await limiter.settle(batch[2] as Decision, 0)).toMatchObject({ charged: 0 });
    expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 4 });
    await expectKept();
    // A clock that stepped back begins another generation of the counter, and takes the level along.
    time.now -= 60_000_000n;
    more = blockOf({
      ends: START - 1 - 60_000_000,
      levelEnds: START + 10 * DAY - 60_000_000,
      level: 3,
      setBy: 1,
    });
    expect(await limiter.consume(SUBJECT)).toMatchObject({ remaining: 3 });
    await expectKept();
    // The key is written as a whole where it has to live longer, or was about to be forgotten.
    time.now += 59n * 60_000_000n;
    await limiter.consume(SUBJECT);
    await expectKept();
    // Where all of it has drained, or ended.
    time.now += 3n * 86_400_000_000n;
    expect(await limiter.consume(SUBJECT)).toMatchObject({ remaining: 9 });
    await expectKept();
    // Its key lives for as long.
    expect(await redis.pttl(key)).toBeGreaterThan(6 * 86_400_000);
    // The first write at or after this microsecond resets the level.
    time.now = BigInt(START + 10 * DAY) - 60_000_001n;
    expect(await limiter.consume(SUBJECT)).toMatchObject({ remaining: 9 });
    await expectKept();
    time.now += 1n;
    expect(await limiter.consume(SUBJECT)).toMatchObject({ remaining: 8 });
    expect(await value()).toHaveLength(length);
    expect(await limiter.reset(SUBJECT)).toBe(true);
    expect(await redis.exists(key)).toBe(0);
  });

  test("a stored block level survives a write in place", async () => {
    const { limiter, first, key, value, length } = await open(false);
    const [seconds = 0] = await redis.time();
    const more = blockOf({ levelEnds: Number(seconds) * 1_000_000 + DAY, level: 1 });
    await redis.append(key, more);
    // In place, or anew where there is no life left.
    for (const hasLife of [true, true, false]) {
      if (!hasLife) await redis.setrange(key, 11, Buffer.alloc(4));
      expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: true });
      const bytes = await value();
      expect(bytes.subarray(length)).toEqual(more);
    }
    expect(await limiter.refund(first)).toBe(true);
    const bytes = await value();
    expect(bytes.subarray(length)).toEqual(more);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });

  test.each([-1, 1, 15, 17, 32])(
    "a value that is %i bytes too long is treated as absent",
    async (by) => {
      const { limiter, first, key, value, length } = await open();
      const bytes = Buffer.concat([await value(), randomBytes(40)]).subarray(0, length + by);
      await redis.set(key, bytes);
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 10 });
      expect(await limiter.refund(first)).toBe(false);
      expect(await value()).toEqual(bytes);
      expect(await limiter.consume(SUBJECT, { cost: 3 })).toMatchObject({ remaining: 7 });
      expect(await value()).toHaveLength(length);
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 7 });
    },
  );

  test.each([
    ["a block for longer than a duration can be", { ends: START + YEAR + 1 }],
    ["a level that is kept for longer than two", { levelEnds: START + 2 * YEAR + 1, level: 1 }],
    ["a level above the highest", { levelEnds: START + DAY, level: 17 }],
    ["a block by a limit that is not there", { ends: START + DAY, setBy: 9 }],
  ])("%s is treated as absent, and locks no client out", async (__, block) => {
    const { limiter, first, key, value, length } = await open();
    await redis.append(key, blockOf(block));
    const absent = { allowed: true, blocked: false, remaining: 10 };
    expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject(absent);
    expect(await limiter.refund(first)).toBe(false);
    expect(await limiter.consume(SUBJECT, { cost: 3 })).toMatchObject({ remaining: 7 });
    expect(await value()).toHaveLength(length);
  });

  test("the longest block is a valid value", async () => {
    const { limiter, key } = await open();
    await redis.append(
      key,
      blockOf({ ends: START + YEAR, levelEnds: START + 2 * YEAR, level: 16 }),
    );
    const retryAfterMs = YEAR / 1_000;
    expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs });
  });
});
