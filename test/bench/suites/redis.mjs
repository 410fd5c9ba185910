import assert from "node:assert/strict";
import { openClient } from "../clients.mjs";
import { hasValgrind, startCounting } from "../instructions.mjs";
import { keepAsking } from "../keep-asking.mjs";
import { makeLimiter } from "../limiters/catalogue.mjs";
import { makeEvalsha } from "../limiters/floor.mjs";
import { ALGORITHMS, makeHeadgate } from "../limiters/headgate.mjs";
import { measureInRounds } from "../rounds.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const FLOOR = "EVALSHA, empty script";
const PEERS = ["rate-limit-redis", "@fastify/rate-limit", "rate-limiter-flexible"];
/** No key ends between two calls, not even of a server that is counted. */
const DAY = 24 * 3_600_000;
const LIMIT = 1_000_000;
const SUBJECTS = 1_000;
/** One decision a call, and as many waiting as fill every batch. */
const MODES = {
  alone: { inFlight: 1, calls: 2_000 },
  batches: { inFlight: 1_000, calls: 20_000 },
};
const QUICK_SHARE = 0.25;
/** Under valgrind a server is fifty times slower; instructions do not vary as time does. */
const COUNTED = { alone: 300, batches: 4_000 };
/** Those who come again and again while instructions are counted. */
const RETURNING = 50;

/** Each algorithm with one limit and with several, and what it is compared with. */
function contestants(client) {
  const place = (prefix, limits = 1, limit = LIMIT) => ({
    library: "ioredis",
    client,
    prefix: `${prefix}${limit === LIMIT ? "" : " full"}`.replaceAll(/\W+/g, "-"),
    quotas: Array.from({ length: limits }, (_, i) => ({ limit, windowMs: (i + 1) * DAY })),
  });
  return [
    { name: FLOOR, limits: 0, make: () => makeEvalsha(place("empty")) },
    ...Object.keys(ALGORITHMS).flatMap((algorithm) =>
      [1, 3, 5].map((limits) => ({
        name: algorithm,
        limits,
        make: ({ limit } = {}) =>
          makeHeadgate(place(`${algorithm} ${limits}`, limits, limit), {
            algorithm,
            denyCache: false,
          }),
      })),
    ),
    ...PEERS.map((name) => ({
      name,
      limits: 1,
      make: ({ limit } = {}) => makeLimiter(name, place(name, 1, limit)),
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
      const asked = { inFlight, subjects: SUBJECTS, calls: isQuick ? calls * QUICK_SHARE : calls };
      measured.push({
        row: { suite: "redis", name, limits, mode, bytes: bytes.get(`${name} ${limits}`) },
        measure: () => measure(redis.control, limiter, asked),
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

async function measure(control, limiter, asked) {
  await control.config("RESETSTAT");
  const allowed = await keepAsking(limiter, asked);
  const { calls, microseconds } = await scriptTime(control);
  assert.equal(allowed, asked.calls);
  return { microseconds: microseconds / asked.calls, decisionsPerCall: asked.calls / calls };
}

/** Of one subject's keys, after one decision, and after a hundred. */
async function bytesPerSubject({ control }, limiter) {
  const sizes = [];
  for (const calls of [1, 99]) {
    await keepAsking(limiter, { calls, inFlight: 1, subjects: 1 });
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
    // The scripts of those before, and what their interpreter keeps, are no part of this.
    await client.flushall();
    await client.script("FLUSH");
    const limiter = await make();
    const ask = (inFlight, subjects) => (calls) =>
      keepAsking(limiter, { calls, inFlight, subjects });
    const often = ask(1, RETURNING);
    await often(RETURNING);
    const returns = await count(COUNTED.alone, often);
    let from = RETURNING;
    const first = await count(COUNTED.alone, async (calls) => {
      await keepAsking(limiter, { calls, inFlight: 1, subjects: Number.MAX_SAFE_INTEGER, from });
      from += calls;
    });
    const together = ask(MODES.batches.inFlight, SUBJECTS);
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
  const ask = (calls) => keepAsking(limiter, { calls, inFlight: 1, subjects: RETURNING });
  assert.equal(await ask(RETURNING), RETURNING);
  let allowed = 0;
  const denied = await count(COUNTED.alone, async (calls) => {
    allowed += await ask(calls);
  });
  assert.equal(allowed, 0);
  await limiter.limiter?.close();
  return denied;
}
