import assert from "node:assert/strict";
import { openClient } from "../clients.mjs";
import { consumeMany } from "../consume-many.mjs";
import { hasValgrind, startCounting } from "../instructions.mjs";
import { makeLimiter } from "../limiters/catalogue.mjs";
import { makeEvalsha } from "../limiters/floor.mjs";
import { ALGORITHMS, makeHeadgate } from "../limiters/headgate.mjs";
import { measureInRounds } from "../rounds.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const FLOOR = "EVALSHA, empty script";
const PEERS = ["rate-limit-redis", "@fastify/rate-limit", "rate-limiter-flexible"];
const DAY = 24 * 3_600_000;
/**
 * A unit recovers in nine seconds, so that no key ends between two calls, not even on a server whose instructions are counted, which
 * is fifty times slower.
 */
const LIMIT = 10_000;
const SUBJECTS = 1_000;
/** One decision a call, and as many waiting as fill every batch. */
const MODES = {
  alone: { inFlight: 1, calls: 2_000 },
  batches: { inFlight: 1_000, calls: 20_000 },
};
const QUICK_SHARE = 0.25;
/** Under valgrind a server is fifty times slower; instructions do not vary as time does. */
const COUNTED = { alone: 300, batches: 4_000 };
/** The number of returning subjects while instructions are counted. */
const RETURNING = 50;

/** Each algorithm with one limit and with several, and the limiters for comparison. */
function contestants(client) {
  const settings = (prefix, limits = 1, limit = LIMIT) => ({
    library: "ioredis",
    client,
    prefix: `${prefix}${limit === LIMIT ? "" : " full"}`.replaceAll(/\W+/g, "-"),
    quotas: Array.from({ length: limits }, (_, i) => ({ limit, windowMs: (i + 1) * DAY })),
  });
  return [
    { name: FLOOR, limits: 0, make: () => makeEvalsha(settings("empty")) },
    ...Object.keys(ALGORITHMS).flatMap((algorithm) =>
      [1, 3, 5].map((limits) => ({
        name: algorithm,
        limits,
        make: ({ limit } = {}) =>
          makeHeadgate(settings(`${algorithm} ${limits}`, limits, limit), {
            algorithm,
            denyCache: false,
          }),
      })),
    ),
    ...PEERS.map((name) => ({
      name,
      limits: 1,
      make: ({ limit } = {}) => makeLimiter(name, settings(name, 1, limit)),
    })),
  ];
}

/** Redis's own time and memory for a decision, and the instructions it takes. */
export async function run({ rounds, isQuick, log }) {
  const redis = await startRedis();
  const client = await openClient("ioredis", redis.port);
  const rows = [];
  const bytes = new Map();
  for (const [mode, { inFlight, calls }] of Object.entries(MODES)) {
    log(mode);
    const measured = [];
    for (const { name, limits, make } of contestants(client)) {
      await redis.control.flushall();
      const limiter = await make();
      if (mode === "alone") bytes.set(`${name} ${limits}`, await bytesPerSubject(redis, limiter));
      const load = { inFlight, subjects: SUBJECTS, calls: isQuick ? calls * QUICK_SHARE : calls };
      measured.push({
        row: { suite: "redis", name, limits, mode, bytes: bytes.get(`${name} ${limits}`) },
        measure: () => measure(redis.control, limiter, load),
        // Its name is free again for the next mode.
        close: () => limiter.limiter?.close(),
      });
    }
    await redis.control.flushall();
    rows.push(...(await measureInRounds({ rounds, isQuick }, measured)));
    for (const { close } of measured) await close();
  }
  client.disconnect();
  await redis.close();
  log("instructions");
  await addInstructions(rows, isQuick, log);
  return rows;
}

async function measure(control, limiter, load) {
  await control.config("RESETSTAT");
  const allowed = await consumeMany(limiter, load);
  const { calls, microseconds } = await scriptTime(control);
  assert.equal(allowed, load.calls);
  return { microseconds: microseconds / load.calls, decisionsPerCall: load.calls / calls };
}

/** Of one subject's keys, after one decision, and after a hundred. */
async function bytesPerSubject({ control }, limiter) {
  const sizes = [];
  for (const calls of [1, 99]) {
    await consumeMany(limiter, { calls, inFlight: 1, subjects: 1 });
    const keys = await control.keys("*");
    const used = await Promise.all(keys.map((key) => control.memory("USAGE", key)));
    sizes.push(used.reduce((total, size) => total + size, 0));
  }
  return sizes;
}

/** Instructions for a decision, where valgrind can count them; the rows have none otherwise. */
async function addInstructions(rows, isQuick, log) {
  if (!hasValgrind()) return log("no valgrind: instructions are not counted");
  const { client, count, close } = await startCounting();
  const wanted = ({ name, limits }) =>
    isQuick
      ? [FLOOR, "gcra", ...PEERS].includes(name) && limits < 5
      : limits <= 1 || name === "gcra";
  for (const { name, limits, make } of contestants(client).filter(wanted)) {
    const rowOf = (mode) =>
      rows.find((one) => one.name === name && one.limits === limits && one.mode === mode);
    // Removes the scripts of earlier limiters, and the interpreter's memory for them.
    await client.flushall();
    await client.script("FLUSH");
    const limiter = await make();
    const consume = (inFlight, subjects) => (calls) =>
      consumeMany(limiter, { calls, inFlight, subjects });
    const often = consume(1, RETURNING);
    await often(RETURNING);
    const returns = await count(COUNTED.alone, often);
    let from = RETURNING;
    const first = await count(COUNTED.alone, async (calls) => {
      await consumeMany(limiter, { calls, inFlight: 1, subjects: Number.MAX_SAFE_INTEGER, from });
      from += calls;
    });
    const together = consume(MODES.batches.inFlight, SUBJECTS);
    await together(SUBJECTS);
    rowOf("batches").instructions = Math.round(await count(COUNTED.batches, together));
    await limiter.limiter?.close();
    const denied = limits === 0 ? Number.NaN : await countDenied(client, count, make);
    Object.assign(rowOf("alone"), {
      instructions: Math.round(returns),
      instructionsFirst: Math.round(first),
      instructionsDenied: Math.round(denied),
    });
  }
  await close();
}

async function countDenied(client, count, make) {
  await client.flushall();
  const limiter = await make({ limit: 1 });
  const consume = (calls) => consumeMany(limiter, { calls, inFlight: 1, subjects: RETURNING });
  assert.equal(await consume(RETURNING), RETURNING);
  let allowed = 0;
  const denied = await count(COUNTED.alone, async (calls) => {
    allowed += await consume(calls);
  });
  assert.equal(allowed, 0);
  await limiter.limiter?.close();
  return denied;
}
