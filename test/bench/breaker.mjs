// Measures the cost of a breaker: nanoseconds per call, while closed and while open, compared with other breakers, and the
// commands it sends to Redis. Each is set up as its users do; rounds are interleaved, so that a busy machine disturbs
// all alike. Absolute times are this machine's; the ratios carry over.
//
//   pnpm build && node test/bench/breaker.mjs [rounds] [--json]
import assert from "node:assert/strict";
import { subscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { parseArgs } from "node:util";
import { BREAKER_CHANNELS, createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import {
  BrokenCircuitError,
  CountBreaker,
  circuitBreaker,
  fallback,
  handleAll,
  handleType,
  SamplingBreaker,
  wrap,
} from "cockatiel";
import Opossum from "opossum";
import { startRedis } from "./start-redis.mjs";

const { values, positionals } = parseArgs({
  options: { json: { type: "boolean", default: false } },
  allowPositionals: true,
});
const rounds = Number(positionals[0] ?? 21);
/** The number of calls for which the commands of Redis are reported. */
const CALLS = 10_000;
/** Sockets and timers get their turn once in so many calls, for the bare function too. */
const TURN = 100;
/** Longer than the run: nothing becomes half-open on the way. */
const HOUR = 3_600_000;

const { connect, control } = await startRedis();

function version(name) {
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

const succeed = async () => "fine";
const fail = async () => {
  throw new Error("the upstream failed");
};
const instead = () => "another answer";
/** An upstream of some milliseconds: the reports are then sent by the clock, not by their size. */
const takeTime = () => delay(5, "fine");

/** Each makes `{ closed, fallback, thrown }`: a call that succeeds, one that is refused and answered, one that throws. */
const makers = {
  async bare() {
    const answer = async () => instead();
    return { closed: succeed, fallback: answer, thrown: fail };
  },
  opossum: () => makeOpossum({}),
  "opossum, timeout: false": () => makeOpossum({ timeout: false }),
  "cockatiel SamplingBreaker": () =>
    makeCockatiel(
      () => new SamplingBreaker({ threshold: 0.5, duration: 300_000, minimumRps: 20 / 300 }),
    ),
  "cockatiel CountBreaker": () =>
    makeCockatiel(() => new CountBreaker({ threshold: 0.5, size: 100, minimumNumberOfCalls: 20 })),
  "Headgate in memory": () => makeHeadgate(() => ({})),
  "Headgate on Redis": () => makeHeadgate(onRedis),
  "Headgate on Redis, flushInterval: 0": () =>
    makeHeadgate(() => ({ ...onRedis(), flushInterval: 0 })),
};

/** Without its snapshots, which would add up all buckets once a second in another breaker's round. */
async function makeOpossum(options) {
  const make = () =>
    new Opossum(succeed, { resetTimeout: HOUR, enableSnapshots: false, ...options });
  const [closed, refusing, throwing] = [make(), make(), make()];
  refusing.fallback(instead);
  refusing.open();
  throwing.open();
  return {
    closed: () => closed.fire(),
    fallback: () => refusing.fire(),
    thrown: () => throwing.fire(),
  };
}

async function makeCockatiel(makeWindow) {
  const make = () => circuitBreaker(handleAll, { halfOpenAfter: HOUR, breaker: makeWindow() });
  const [closed, throwing] = [make(), make()];
  await failOften(() => throwing.execute(fail));
  const refusing = wrap(fallback(handleType(BrokenCircuitError), instead), throwing);
  return {
    closed: () => closed.execute(succeed),
    fallback: () => refusing.execute(succeed),
    thrown: () => throwing.execute(succeed),
  };
}

let made = 0;
function onRedis() {
  made += 1;
  return { name: `bench-${made}`, store: redisStore(connect()) };
}

async function makeHeadgate(options) {
  const make = () => createBreaker({ openFor: "1h", ...options() });
  const [closed, open] = [make(), make()];
  await failOften(() => open.run(fail));
  // Sends what was collected.
  await open.snapshot();
  return {
    closed: () => closed.run(succeed),
    paced: () => closed.run(takeTime),
    fallback: () => open.run(succeed, { fallback: instead }),
    thrown: () => open.run(succeed),
  };
}

async function failOften(call) {
  for (let i = 0; i < 200; i += 1) await call().catch(() => {});
}

async function run(call, inFlight, calls = CALLS) {
  let left = calls;
  const callInTurn = async () => {
    while (left > 0) {
      left -= 1;
      if (left % TURN === 0) await nextTurn();
      try {
        await call();
      } catch {
        // The breaker throws an error while it is open.
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, callInTurn));
}

async function measure(call, inFlight) {
  const from = process.hrtime.bigint();
  await run(call, inFlight);
  return Number(process.hrtime.bigint() - from) / CALLS;
}

/** What clients sent, for as many calls; what is collected at the end is sent within the pause. */
async function countCommands(call, inFlight) {
  await control.config("RESETSTAT");
  await run(call, inFlight);
  await delay(600);
  const info = await control.info("commandstats");
  const scripts = [...info.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+)/gm)];
  return scripts.reduce((total, [, calls]) => total + Number(calls), 0);
}

function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

let outages = 0;
subscribe(BREAKER_CHANNELS.degraded, () => {
  outages += 1;
});
const subjects = [];
for (const [name, make] of Object.entries(makers)) {
  const calls = await make();
  // Checks that the calls were made as intended.
  assert.equal(await calls.closed(), "fine", name);
  assert.equal(await calls.fallback(), "another answer", name);
  await assert.rejects(() => calls.thrown(), undefined, name);
  subjects.push({ name, calls });
}

const rows = [];
for (const state of ["closed", "fallback", "thrown"]) {
  for (const inFlight of [1, 64]) {
    const times = new Map(subjects.map(({ name }) => [name, []]));
    for (let round = -2; round < rounds; round += 1) {
      for (let i = 0; i < subjects.length; i += 1) {
        // A different breaker begins each round, so that none always pays for the garbage of the same one.
        const { name, calls } = subjects.at((i + round) % subjects.length);
        const time = await measure(calls[state], inFlight);
        // The first two rounds are for the compiler.
        if (round >= 0) times.get(name).push(time);
      }
    }
    const bare = quantile(times.get("bare"), 0.5);
    const opossum = quantile(times.get("opossum"), 0.5) - bare;
    for (const { name, calls } of subjects) {
      const median = quantile(times.get(name), 0.5);
      rows.push({
        state,
        inFlight,
        name,
        nanoseconds: median,
        low: quantile(times.get(name), 0.25),
        high: quantile(times.get(name), 0.75),
        overhead: median - bare,
        toOpossum: (median - bare) / opossum,
        commands: name.includes("Redis") ? await countCommands(calls[state], inFlight) : 0,
      });
    }
  }
}

const paced = [];
for (const { name, calls } of subjects.filter((subject) => subject.name.includes("Redis"))) {
  paced.push({ name, commands: await countCommands(calls.paced, 64) });
}

const info = await control.info("server");
const setup = {
  node: process.version,
  redis: /redis_version:(\S+)/.exec(info)?.[1],
  opossum: version("opossum"),
  cockatiel: version("cockatiel"),
  ioredis: version("ioredis"),
  headgate: version("@headgate/breaker"),
  rounds,
  calls: CALLS,
  // A machine so busy that the store timed out invalidates the measurements on Redis.
  outages,
};

if (values.json) {
  console.log(JSON.stringify({ setup, rows, paced }, null, 2));
} else {
  console.log(
    Object.entries(setup)
      .map(([key, value]) => `${key} ${value}`)
      .join(", "),
  );
  const titles = {
    closed: "closed, the call succeeds",
    fallback: "open, the fallback answers",
    thrown: "open, it throws (the bare function throws an error too)",
  };
  for (const [state, title] of Object.entries(titles)) {
    for (const inFlight of [1, 64]) {
      console.log(`\n${title}, ${inFlight} in flight`);
      console.log(
        `${"".padEnd(38)}ns a call  (half of the rounds)  above bare  × opossum  commands`,
      );
      for (const row of rows.filter((one) => one.state === state && one.inFlight === inFlight)) {
        console.log(
          row.name.padEnd(38) +
            row.nanoseconds.toFixed(0).padStart(9) +
            `${row.low.toFixed(0)}–${row.high.toFixed(0)}`.padStart(21) +
            row.overhead.toFixed(0).padStart(12) +
            (row.name === "bare" ? "" : row.toOpossum.toFixed(2)).padStart(11) +
            (row.name.includes("Redis") ? String(row.commands) : "").padStart(10),
        );
      }
    }
  }
  console.log(`\n${CALLS} calls of an upstream that takes 5 ms, 64 in flight, closed`);
  for (const { name, commands } of paced) {
    console.log(`${name.padEnd(38)}${commands} commands`);
  }
}
process.exit();
