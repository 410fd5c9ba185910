import assert from "node:assert/strict";
import { openClient } from "../clients.mjs";
import { consumeMany } from "../consume-many.mjs";
import { makeHeadgate } from "../limiters/headgate.mjs";
import { measureInRounds } from "../rounds.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const HOUR = 3_600_000;
const COUNTS = [1_000, 10_000, 100_000, 1_000_000];
const CALLS = 20_000;

/** As many keys in a database of their own, and decisions on keys from all over them. */
export async function growKeys({ rounds, isQuick }) {
  const redis = await startRedis();
  const measured = [];
  const clients = [];
  const counts = isQuick ? COUNTS.slice(0, 3) : COUNTS;
  for (const [database, keys] of counts.entries()) {
    const client = await openClient("ioredis", redis.port);
    clients.push(client);
    await client.select(database);
    // One request is remembered for an hour, so that no key is gone before the end.
    const quotas = [{ limit: 1_000, windowMs: 1_000 * HOUR }];
    const settings = { client, prefix: "keys", quotas };
    const limiter = makeHeadgate(settings);
    await consumeMany(limiter, { calls: keys, inFlight: 1_000, subjects: keys });
    assert.equal(await client.dbsize(), keys);
    measured.push({
      row: { suite: "growth", what: "keys", at: keys },
      measure: () => measure(redis.control, scattered(limiter, keys)),
    });
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  for (const client of clients) client.disconnect();
  await redis.close();
  return rows;
}

/** Successive keys are not adjacent in the hash table: the multiplier is coprime to every count. */
function scattered(limiter, keys) {
  let count = 0;
  const consume = () => {
    count += 1;
    return limiter.consume(`user-${(count * 7_919) % keys}`);
  };
  return { ...limiter, consume };
}

async function measure(control, limiter) {
  await control.config("RESETSTAT");
  const from = performance.now();
  const allowed = await consumeMany(limiter, { calls: CALLS, inFlight: 64, subjects: 1 });
  const seconds = (performance.now() - from) / 1_000;
  assert.equal(allowed, CALLS);
  const { microseconds } = await scriptTime(control);
  return { perSecond: CALLS / seconds, redisMicroseconds: microseconds / CALLS };
}
