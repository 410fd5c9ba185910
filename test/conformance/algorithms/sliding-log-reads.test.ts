import type { Decision } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandsOf } from "../../redis/commands-of.ts";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { MicroClock } from "../support/micro-clock.ts";

const SLOT_BYTES = 13;
const WINDOW_MS = 60_000;

// A server of its own: the reads of other suites must not be counted.
let server: RedisProcess;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
});
afterAll(async () => {
  await redis.quit();
  await server.stop();
});

test.each([100, 1_000, 10_000, 100_000])(
  "a log of %i entries is searched, not read, even when half of it expires at once",
  async (limit) => {
    const time = new MicroClock(1_800_000_000_000_000n);
    const limits = slidingLog({ limit, window: WINDOW_MS });
    const stores = [memoryStore({ clock: time.clock }), redisStore(redis, { clock: time.clock })];
    const twins = stores.map((store) =>
      createLimiter({ ...STORE_ALONE, name: `log-${limit}`, limits, store }),
    );
    const consume = (cost: number) =>
      Promise.all(twins.map((twin) => twin.consume("reader", { cost }))) as Promise<
        [Decision, Decision]
      >;
    for (const half of ["older", "newer"]) {
      for (let sent = 0; sent < limit / 2; ) {
        const batch = Math.min(1_000, limit / 2 - sent);
        await Promise.all(Array.from({ length: batch }, () => consume(1)));
        sent += batch;
        time.advance(1n);
      }
      if (half === "older") time.advance(BigInt(WINDOW_MS * 500));
    }
    // Galloping and halving, once to find what expired and once to find what to wait for.
    const most = 4 * Math.ceil(Math.log2(limit)) + 4;

    const denied = await readsOf(() => consume(2));
    expect(denied.answer[1]).toEqual(denied.answer[0]);
    expect(denied.answer[0]).toMatchObject({ allowed: false, remaining: 0 });
    expect(denied.reads.length).toBeLessThanOrEqual(most);

    time.now += BigInt(WINDOW_MS * 500);
    const expiring = await readsOf(() => consume(limit / 2 + 1));
    expect(expiring.answer[1]).toEqual(expiring.answer[0]);
    expect(expiring.answer[0]).toMatchObject({ allowed: false, remaining: limit / 2 });
    expect(expiring.reads.length).toBeGreaterThan(0);
    expect(expiring.reads.length).toBeLessThanOrEqual(most);

    const charged = await readsOf(() => consume(1));
    expect(charged.answer[1]).toEqual(charged.answer[0]);
    expect(charged.answer[0]).toMatchObject({ allowed: true, remaining: limit / 2 - 1 });
    expect(charged.reads.length).toBeLessThanOrEqual(most);

    const reads = [denied, expiring, charged].flatMap((decision) => decision.reads);
    expect(Math.max(...reads)).toBe(SLOT_BYTES);
  },
);

/** What a decision answers, and how many bytes each of its GETRANGEs asks the server for. */
async function readsOf<T>(decide: () => Promise<T>): Promise<{ answer: T; reads: number[] }> {
  const { answer, commands } = await commandsOf(redis, decide);
  const reads = commands
    .filter(([name]) => name === "GETRANGE")
    .map(([, , from, to]) => Number(to) - Number(from) + 1);
  return { answer, reads };
}
