// Measures the figures of docs/understand/sizing.md, and compares its calculation with a cluster of three. Run it alone, after a
// build; --save keeps the run and rewrites the page's tables:
//
//   node test/bench/sizing.mjs [--save]
//
// It counts processor time and bytes by the servers' own account (INFO), not seconds on the clock.
import { setTimeout as delay } from "node:timers/promises";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { openClient } from "./clients.mjs";
import { consumeMany } from "./consume-many.mjs";
import { keepSizing } from "./keep-run.mjs";
import { ALGORITHMS, makeHeadgate } from "./limiters/headgate.mjs";
import { readMachine } from "./machine.mjs";
import { startCluster } from "./start-cluster.mjs";
import { startRedis } from "./start-redis.mjs";
import { median, rounded } from "./statistics.mjs";

const HOUR = 3_600_000;
const ROUNDS = 5;
const LIMIT = 1_000_000;
const SUBJECTS = 2_000;
/** Connections that each have one call under way: enough that a server always finds the next one waiting. */
const CONNECTIONS = 32;
/** So few that each key is still counted when memory is looked at. */
const REMEMBERED = 10;
const CALLS = 10_000;
const KEYS = 50_000;
/** The fleet of the check: processes, seconds, and the decisions a second of each. */
const CHECK = { processes: 12, seconds: 10, rate: 100, subjects: 20_000 };
/** Where each decision is several calls, this machine makes fewer of them. */
const RATE_OF_DIMENSIONS = 30;
/** How long servers are watched that have nothing to do. */
const IDLE_SECONDS = 2;

const quotas = (limits, limit = LIMIT) =>
  Array.from({ length: limits }, (_, i) => ({ limit, windowMs: (i + 1) * HOUR }));

/** Returns the total use of all servers: processor microseconds, bytes of network and of memory, script calls. */
async function usedBy(controls) {
  const each = await Promise.all(
    controls.map(async (control) => {
      const info = await control.info("everything");
      const number = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1] ?? 0);
      return {
        cpu: (number("used_cpu_user") + number("used_cpu_sys")) * 1e6,
        input: number("total_net_input_bytes"),
        output: number("total_net_output_bytes"),
        memory: number("used_memory"),
        calls: Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(info)?.[1] ?? 0),
      };
    }),
  );
  return each.reduce((sum, one) =>
    Object.fromEntries(Object.entries(sum).map(([name, value]) => [name, value + one[name]])),
  );
}

/** Returns the difference in use before and after some work. */
async function usedDuring(controls, work) {
  const before = await usedBy(controls);
  await work();
  const after = await usedBy(controls);
  return Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
}

/** What each of the decisions of work used: the median of some rounds, value by value. */
async function perDecision({ control }, work) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await usedDuring([control], work));
  return Object.fromEntries(
    Object.keys(rounds[0]).map((name) => [name, median(rounds.map((one) => one[name])) / CALLS]),
  );
}

function makeLimiter(client, name, limits, algorithm, quota = LIMIT) {
  return makeHeadgate({ client, prefix: name, quotas: quotas(limits, quota) }, { algorithm });
}

/**
 * What a decision takes, and the call it comes in: of calls with one decision, and of calls with as many as fit, by two equations. A
 * server that has nothing else to do wakes up for each call, which takes more.
 */
async function measureCalls(redis, algorithm, limits) {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openClient("ioredis", redis.port)),
  );
  const name = `${algorithm} ${limits}`.replaceAll(/\W+/g, "-");
  const fleet = clients.map((client) => makeLimiter(client, name, limits, algorithm));
  const consume = (calls, inFlight) => (limiter, i) =>
    consumeMany(limiter, { calls, inFlight, subjects: SUBJECTS, from: i * calls });
  const calm = () => consume(CALLS, 1)(fleet[0], 0);
  const busy = () => Promise.all(fleet.map(consume(CALLS / CONNECTIONS, 1)));
  const together = () => consume(CALLS, 1_000)(fleet[0], 0);
  await together();
  const woken = await perDecision(redis, calm);
  const one = await perDecision(redis, busy);
  const many = await perDecision(redis, together);
  await Promise.all(fleet.map(({ limiter }) => limiter.close()));
  for (const client of clients) client.disconnect();
  // A decision alone takes call + decision; one of b in a call takes call / b + decision.
  const solve = (value) => {
    const call = (one[value] - many[value]) / (one.calls - many.calls);
    return { call: rounded(call), decision: rounded(one[value] - call * one.calls) };
  };
  const cpu = { ...solve("cpu"), wake: rounded(woken.cpu - one.cpu) };
  return { cpu, input: solve("input"), output: solve("output") };
}

/** Bytes of memory for each subject, with all that the server keeps of a key. */
async function measureMemory(algorithm, limits, quota, callsPerSubject) {
  // A server of its own: tables of keys stay as large as they once were.
  const redis = await startRedis();
  const client = await openClient("ioredis", redis.port);
  const limiter = makeLimiter(client, "memory", limits, algorithm, quota);
  const subjects = KEYS / (callsPerSubject > 1 ? 10 : 1);
  const { memory } = await usedDuring([redis.control], () =>
    consumeMany(limiter, { calls: subjects * callsPerSubject, inFlight: 1_000, subjects }),
  );
  await limiter.limiter.close();
  client.disconnect();
  await redis.close();
  return Math.round(memory / subjects);
}

/** A fleet that decides at its pace, each process on a client of its own, on a real cluster of three. */
async function checkCluster({ limits, perDimension }) {
  const cluster = await startCluster(3);
  const clients = await Promise.all(
    Array.from({ length: CHECK.processes }, () => cluster.connect()),
  );
  const policy = Array.from({ length: limits }, (_, i) => ({
    ...gcra({ limit: LIMIT, window: (i + 1) * HOUR }),
    ...(perDimension && i > 0 ? { per: `d${i}` } : {}),
  }));
  const name = `check-${limits}-${perDimension}`;
  const fleet = clients.map((client) =>
    createLimiter({ name, limits: policy, store: redisStore(client), storeTimeout: "10s" }),
  );
  const dimensions = ["default", ...Array.from({ length: limits - 1 }, (_, i) => `d${i + 1}`)];
  const subjectOf = () => {
    const user = () => `user-${Math.floor(Math.random() * CHECK.subjects)}`;
    if (!perDimension) return user();
    return Object.fromEntries(dimensions.map((dimension) => [dimension, user()]));
  };
  /** Arrivals of a Poisson process, which do not wait for answers. */
  const rate = perDimension ? RATE_OF_DIMENSIONS : CHECK.rate;
  const decideFor = async (limiter, milliseconds) => {
    const until = performance.now() + milliseconds;
    const decisions = [];
    for (let at = performance.now(); at < until; ) {
      at += (-Math.log(1 - Math.random()) * 1_000) / rate;
      const pause = at - performance.now();
      if (pause > 0) await delay(pause);
      decisions.push(limiter.consume(subjectOf()));
    }
    const allowed = await Promise.all(decisions);
    if (allowed.some(({ degraded }) => degraded)) throw new Error("a decision was degraded");
    return decisions.length;
  };
  await Promise.all(fleet.map((limiter) => decideFor(limiter, 1_000)));
  const from = performance.now();
  let made = [];
  const busy = await usedDuring(cluster.controls, async () => {
    made = await Promise.all(fleet.map((one) => decideFor(one, CHECK.seconds * 1_000)));
  });
  const seconds = (performance.now() - from) / 1_000;
  const idle = await usedDuring(cluster.controls, () => delay(IDLE_SECONDS * 1_000));
  await Promise.all(fleet.map((limiter) => limiter.close()));
  for (const client of clients) client.disconnect();
  await cluster.close();
  const decisions = made.reduce((sum, one) => sum + one, 0);
  /** Less what the servers do by themselves: they greet each other, and count their keys. */
  const used = (value) => busy[value] - (idle[value] / IDLE_SECONDS) * seconds;
  return {
    decisions,
    calls: busy.calls,
    ...Object.fromEntries(
      ["cpu", "input", "output"].map((value) => [value, Math.round(used(value))]),
    ),
  };
}

const redis = await startRedis();
const costs = {};
for (const [algorithm, limits] of [
  ["gcra", 1],
  ["gcra", 3],
  ["slidingWindow", 1],
  ["slidingLog", 1],
]) {
  costs[`${algorithm} ${limits}`] = await measureCalls(redis, algorithm, limits);
  console.error(`${algorithm}, ${limits}: ${JSON.stringify(costs[`${algorithm} ${limits}`])}`);
}
await redis.close();

const memory = {};
for (const algorithm of Object.keys(ALGORITHMS)) {
  const [quota, callsPerSubject] = algorithm === "slidingLog" ? [100, 100] : [REMEMBERED, 1];
  memory[`${algorithm} 1`] = await measureMemory(algorithm, 1, quota, callsPerSubject);
}
memory["gcra 3"] = await measureMemory("gcra", 3, REMEMBERED, 1);
console.error(JSON.stringify(memory));

const check = {
  one: await checkCluster({ limits: 1, perDimension: false }),
  three: await checkCluster({ limits: 3, perDimension: false }),
  dimensions: await checkCluster({ limits: 3, perDimension: true }),
};
const results = { machine: await readMachine(), costs, memory, check };
if (process.argv.includes("--save")) keepSizing(results);
console.log(JSON.stringify(results, null, 2));
process.exit();
