import assert from "node:assert/strict";
import { createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { openClient } from "../clients.mjs";
import { measureInRounds } from "../rounds.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const LIMITS = [10, 100, 1_000, 10_000, 100_000];
const QUICK_LIMITS = [100, 100_000];
const WINDOW_MS = 1_000_000;
const CALLS = 1_000;
const QUICK_CALLS = 200;

/**
 * A log that is always full: on a clock of its own, one request leaves the window for each that is admitted, which is the
 * most that a decision can have to do. One decision a call, by Redis's own account.
 */
export async function growLogLimits({ rounds, isQuick }) {
  const redis = await startRedis();
  const client = await openClient("ioredis", redis.port);
  const measured = [];
  for (const limit of isQuick ? QUICK_LIMITS : LIMITS) {
    const log = await fillLog(client, limit);
    const bytes = await bytesOf(redis.control, limit);
    measured.push({
      row: { suite: "growth", what: "limit of slidingLog", at: limit, bytes },
      measure: () => measure(redis.control, log, isQuick ? QUICK_CALLS : CALLS),
    });
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  client.disconnect();
  await redis.close();
  return rows;
}

/** A step of the clock later, the oldest entry has left and there is room for one. */
async function fillLog(client, limit) {
  const step = WINDOW_MS / limit;
  let now = 1_800_000_000_000;
  const limiter = createLimiter({
    name: `log-${limit}-`,
    limits: slidingLog({ limit, window: WINDOW_MS }),
    store: redisStore(client, { clock: () => now }),
    storeTimeout: "10s",
    denyCache: false,
  });
  const admitNext = async () => {
    now += step;
    assert.ok((await limiter.consume("one")).allowed, `limit ${limit}: the log has no room`);
  };
  for (let i = 0; i < limit; i += 1) {
    await admitNext();
  }
  now -= step;
  assert.equal((await limiter.peek("one")).allowed, false, `limit ${limit}: the log is not full`);
  now += step;
  return admitNext;
}

async function bytesOf(control, limit) {
  const keys = await control.keys(`*log-${limit}-*`);
  const used = await Promise.all(keys.map((key) => control.memory("USAGE", key, "SAMPLES", 0)));
  return used.reduce((total, size) => total + size, 0);
}

async function measure(control, admitNext, calls) {
  await control.config("RESETSTAT");
  for (let i = 0; i < calls; i += 1) await admitNext();
  const { microseconds } = await scriptTime(control);
  return { redisMicroseconds: microseconds / calls };
}
