import assert from "node:assert/strict";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { openClient } from "../clients.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startRedis } from "../start-redis.mjs";

const IN_FLIGHT = 64;
const CALLS = 500_000;
const QUICK_CALLS = 50_000;
const LEASE = { max: 10_000, ttl: "1s" };
/** As many as pass within an hour, of a limit that the run exceeds; the window gives nothing back meanwhile. */
const BOUND = 100_000;

/** One global subject, with leases and without: measures the speed, and checks that the limit holds. */
export async function growHotSubject({ rounds, isQuick }) {
  const redis = await startRedis();
  const client = await openClient("ioredis", redis.port);
  const calls = isQuick ? QUICK_CALLS : CALLS;
  const kinds = [
    { name: "without leases", options: {}, calls: calls / 10 },
    { name: "with leases", options: { lease: LEASE }, calls },
  ];
  const measured = [];
  for (const { name, options, calls } of kinds) {
    await requireBound(client, name, options);
    const limiter = makeGlobal(client, `hot ${name}`, 1_000_000_000, options);
    measured.push({
      row: { suite: "growth", what: "one subject for all", name },
      measure: () => measure(limiter, calls),
    });
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  client.disconnect();
  await redis.close();
  return rows;
}

function makeGlobal(client, name, limit, options) {
  return createLimiter({
    name,
    limits: gcra({ limit, window: "1h", per: "global" }),
    store: redisStore(client),
    storeTimeout: "10s",
    ...options,
  });
}

async function requireBound(client, name, options) {
  const from = performance.now();
  const limiter = makeGlobal(client, `bound ${name}`, BOUND, options);
  const admitted = await admit(limiter, 2 * BOUND);
  const hours = (performance.now() - from) / 3_600_000;
  const most = BOUND + Math.ceil(BOUND * hours);
  assert.ok(admitted <= most, `${name}: ${admitted} were admitted of at most ${most}`);
  // Leases must not deny remaining units either.
  assert.ok(admitted >= 0.9 * BOUND, `${name}: ${admitted} of ${BOUND} were admitted`);
  await limiter.close();
}

async function admit(limiter, calls) {
  let left = calls;
  let admitted = 0;
  const consumeInTurn = async () => {
    while (left > 0) {
      left -= 1;
      if ((await limiter.consume({})).allowed) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, consumeInTurn));
  return admitted;
}

async function measure(limiter, calls) {
  const from = performance.now();
  const admitted = await admit(limiter, calls);
  const seconds = (performance.now() - from) / 1_000;
  assert.equal(admitted, calls);
  return { perSecond: calls / seconds };
}
