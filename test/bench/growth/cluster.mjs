import assert from "node:assert/strict";
import { openClient } from "../clients.mjs";
import { consumeMany } from "../consume-many.mjs";
import { makeLimiter } from "../limiters/catalogue.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startCluster } from "../start-cluster.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const HOUR = 3_600_000;
const SUBJECTS = 1_000;
const CALLS = 20_000;
const QUICK_CALLS = 4_000;
const LIMITERS = ["INCR", "Headgate", "rate-limiter-flexible"];

/** The same calls to one server and to a cluster of three, with a thousand subjects in about as many hash slots. */
export async function growCluster({ rounds, isQuick }) {
  const single = await startRedis();
  const cluster = await startCluster(3);
  const setups = [
    { servers: 1, client: await openClient("ioredis", single.port), controls: [single.control] },
    { servers: 3, client: await cluster.connect(), controls: cluster.controls },
  ];
  const measured = [];
  for (const { servers, client, controls } of setups) {
    for (const inFlight of [64, 1_000]) {
      for (const name of LIMITERS) {
        const settings = {
          library: "ioredis",
          client,
          prefix: `${name}-${inFlight}`.replaceAll(/\W+/g, "-"),
          quotas: [{ limit: 1_000_000, windowMs: HOUR }],
        };
        const limiter = await makeLimiter(name, settings);
        measured.push({
          row: { suite: "growth", what: "servers", at: servers, name, inFlight },
          measure: () => measure(controls, limiter, inFlight, isQuick ? QUICK_CALLS : CALLS),
        });
      }
    }
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  for (const { client } of setups) client.disconnect();
  await cluster.close();
  await single.close();
  return rows;
}

async function measure(controls, limiter, inFlight, calls) {
  for (const control of controls) await control.config("RESETSTAT");
  const from = performance.now();
  const allowed = await consumeMany(limiter, { calls, inFlight, subjects: SUBJECTS });
  const seconds = (performance.now() - from) / 1_000;
  assert.equal(allowed, calls);
  const times = await Promise.all(controls.map(scriptTime));
  const sum = (name) => times.reduce((total, time) => total + time[name], 0);
  return {
    perSecond: calls / seconds,
    redisMicroseconds: sum("microseconds") / calls,
    decisionsPerCall: calls / sum("calls"),
  };
}
