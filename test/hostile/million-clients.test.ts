import { createLimiter, fixedWindow, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { CROWD, eventually, IS_LONG, passCrowd } from "./crowd.ts";
import { liveMebibytes, mebibytesOf } from "./memory-use.ts";
import { FROM_REDIS } from "./redis-of-our-own.ts";

/** A million clients who come once (a tenth of it without HEADGATE_LONG=1): how much memory they take, and that it is freed. */

const own = useOwnRedis();

function print(what: string, figures: Readonly<Record<string, number>>): void {
  const printed = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  console.log(`${CROWD} clients, ${what}: ${printed.join(", ")}`);
}

describe("in memory", () => {
  const kinds = [
    // A kilobyte each: key, row, three heap entries, and the states of the limits.
    ["counters", fixedWindow({ limit: 5, window: "1h" }), 1],
    ["logs", slidingLog({ limit: 5, window: "1h" }), 2],
  ] as const;

  test.each(kinds)(
    "%s take no more memory than maxKeys allows",
    async (kind, limits, kilobytes) => {
      const maxKeys = CROWD / 20;
      const limiter = createLimiter({ name: "api", limits, store: memoryStore({ maxKeys }) });
      await limiter.consume("warm");
      const before = liveMebibytes();
      const filling = await passCrowd(limiter.consume, { to: maxKeys });
      const full = liveMebibytes();
      const beyond = await passCrowd(limiter.consume, { from: maxKeys });
      const after = liveMebibytes();
      await limiter.close();
      print(`memoryStore of ${maxKeys} ${kind}, MB`, {
        before,
        full,
        after,
        "µs each while it fills": filling.microsecondsEach,
        "µs each when it is full": beyond.microsecondsEach,
      });
      expect(filling.admitted + beyond.admitted).toBe(CROWD);
      expect(full - before).toBeLessThan((maxKeys * kilobytes * 1_024) / 2 ** 20 + 2);
      // Nineteen times as many additional clients must not take more memory.
      expect(after - full).toBeLessThan(0.1 * (full - before) + 3);
      // A heap finds an entry in a few steps, without a scan of all entries.
      expect(beyond.microsecondsEach).toBeLessThan(200);
    },
  );

  test("a client that has used its limit is not evicted by a crowd that came once", async () => {
    const limits = fixedWindow({ limit: 5, window: "1h" });
    const limiter = createLimiter({ name: "api", limits, store: memoryStore({ maxKeys: 1_000 }) });
    for (let i = 0; i < 5; i += 1) await limiter.consume("spent");
    await passCrowd(limiter.consume, { to: CROWD / 10 });
    expect((await limiter.consume("spent")).allowed).toBe(false);
    await limiter.close();
  });

  test("expired entries are removed as new clients come", async () => {
    let now = 1_800_000_000_000;
    const store = memoryStore({ maxKeys: CROWD, clock: () => now });
    const limiter = createLimiter({
      name: "api",
      limits: fixedWindow({ limit: 5, window: "1s" }),
      store,
    });
    const crowd = CROWD / 10;
    await passCrowd(limiter.consume, { to: crowd });
    const once = liveMebibytes();
    for (let round = 1; round < 8; round += 1) {
      now += 2_000;
      await passCrowd(limiter.consume, { from: round * crowd, to: (round + 1) * crowd });
    }
    const often = liveMebibytes();
    await limiter.close();
    print("memoryStore, eight crowds after each other, MB", { once, often });
    expect(often - once).toBeLessThan(10);
  });
});

describe("in Redis", () => {
  /** A quarter of them in the normal run: the test waits for them to expire. */
  const REDIS_CROWD = IS_LONG ? CROWD : CROWD / 4;

  /** Longer than the crowd takes to pass, so that all of it is there at once. */
  const WINDOW_MS = REDIS_CROWD / 10;

  /** Expiry is rounded up. */
  const LONGEST_TTL_MS = 2 * WINDOW_MS + 1_000;

  test("every client's key expires with its window", async () => {
    const used = async () => mebibytesOf(await own.client.info("memory"));
    const limits = fixedWindow({ limit: 5, window: WINDOW_MS });
    const limiter = createLimiter({
      name: "api",
      limits,
      store: redisStore(own.client),
      ...FROM_REDIS,
    });
    await passCrowd(limiter.consume, { to: 1_000 });
    await own.client.flushall();
    const [before, heapBefore] = [await used(), liveMebibytes()];
    const { admitted, microsecondsEach } = await passCrowd(limiter.consume, { to: REDIS_CROWD });
    const [full, heapAfter] = [await used(), liveMebibytes()];
    expect(admitted).toBe(REDIS_CROWD);
    await expectAllToExpire();
    await eventually(async () => (await own.client.dbsize()) === 0, LONGEST_TTL_MS + 30_000);
    await own.client.call("MEMORY", "PURGE");
    const after = await used();
    await limiter.close();
    print(`Redis, ${REDIS_CROWD} of them, MB`, {
      before,
      full,
      after,
      "bytes a client": ((full - before) * 2 ** 20) / REDIS_CROWD,
      "µs each": microsecondsEach,
      "heap of this process before": heapBefore,
      "and after": heapAfter,
    });
    expect(((full - before) * 2 ** 20) / REDIS_CROWD).toBeLessThan(400);
    expect(after - before).toBeLessThan(0.1 * (full - before) + 2);
    expect(heapAfter - heapBefore).toBeLessThan(15);
  }, 300_000);

  async function expectAllToExpire(): Promise<void> {
    const info = await own.client.info("keyspace");
    const [, keys, expires] = /^db0:keys=(\d+),expires=(\d+)/m.exec(info) ?? [];
    expect(Number(keys)).toBeGreaterThan(0);
    expect(expires).toBe(keys);
    const all = await own.scan();
    for (let i = 0; i < all.length; i += 10_000) {
      const ttls = await Promise.all(all.slice(i, i + 10_000).map((key) => own.client.pttl(key)));
      // -2 means that the key has expired meanwhile; -1 would mean that it never expires.
      expect(ttls.filter((ttl) => ttl === -1 || ttl > LONGEST_TTL_MS)).toEqual([]);
    }
  }
});
