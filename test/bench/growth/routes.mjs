import assert from "node:assert/strict";
import { openClient } from "../clients.mjs";
import { consumeMany } from "../consume-many.mjs";
import { makeHeadgate } from "../limiters/headgate.mjs";
import { measureInRounds } from "../rounds.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const HOUR = 3_600_000;
const COUNTS = [1, 300];
const ALGORITHMS = ["gcra", "fixedWindow", "slidingWindow"];
const WINDOWS = 5;
const CALLS = 20_000;
const QUICK_CALLS = 4_000;

/**
 * Routes with a limit each, of numbers of their own, on one client. Scripts are of shapes, so that the server keeps few of
 * them, and once each was loaded it never lacks one.
 */
export async function growRoutes({ rounds, isQuick }) {
  const measured = [];
  const servers = [];
  for (const routes of COUNTS) {
    const redis = await startRedis();
    const client = await openClient("ioredis", redis.port);
    servers.push({ redis, client });
    const limiters = Array.from({ length: routes }, (_, i) =>
      makeHeadgate(
        {
          client,
          prefix: `route-${i}`,
          quotas: [{ limit: 1_000_000 + i, windowMs: HOUR * (1 + (i % WINDOWS)) }],
        },
        { algorithm: ALGORITHMS[i % ALGORITHMS.length] },
      ),
    );
    const inTurns = { isAllowed: ({ allowed }) => allowed, consume: consumeInTurns(limiters) };
    await consumeMany(inTurns, { calls: 2 * routes, inFlight: 1, subjects: 1 });
    await consumeMany(inTurns, { calls: 20 * routes, inFlight: 64, subjects: 1_000 });
    const info = await redis.control.info("memory");
    measured.push({
      row: {
        suite: "growth",
        what: "routes",
        at: routes,
        scripts: Number(/number_of_cached_scripts:(\d+)/.exec(info)[1]),
      },
      measure: () => measure(redis.control, inTurns, isQuick ? QUICK_CALLS : CALLS),
    });
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  for (const { redis, client } of servers) {
    client.disconnect();
    await redis.close();
  }
  return rows;
}

function consumeInTurns(limiters) {
  let count = 0;
  return (subject) => {
    count += 1;
    return limiters[count % limiters.length].consume(subject);
  };
}

async function measure(control, limiter, calls) {
  await control.config("RESETSTAT");
  const from = performance.now();
  const allowed = await consumeMany(limiter, { calls, inFlight: 64, subjects: 1_000 });
  const seconds = (performance.now() - from) / 1_000;
  assert.equal(allowed, calls);
  const errors = await control.info("errorstats");
  assert.ok(!errors.includes("NOSCRIPT"), `a script was missing: ${errors}`);
  const { microseconds } = await scriptTime(control);
  return { perSecond: calls / seconds, redisMicroseconds: microseconds / calls };
}
