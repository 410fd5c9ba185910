import { join } from "node:path";
import { LIBRARIES } from "../clients.mjs";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { cpuOf, scriptTime, startRedis } from "../start-redis.mjs";
import { titleOfCase } from "../tables/decisions.mjs";

const FILE = join(import.meta.dirname, "../limiter-process.mjs");

/** One thing differs from the first case in each of the others. */
const BASE = { inFlight: 64, subjects: 1_000, limits: 1, isDenied: false };
const SINGLE = [
  "INCR",
  "EVALSHA, empty script",
  "Headgate",
  "Headgate, fixed window",
  "rate-limit-redis",
  "@fastify/rate-limit",
  "rate-limiter-flexible",
];
const SEVERAL = ["Headgate", "rate-limiter-flexible"];
const DENYING = [
  "Headgate",
  "Headgate, no deny cache",
  "rate-limit-redis",
  "@fastify/rate-limit",
  "rate-limiter-flexible",
  "rate-limiter-flexible, blocking",
];
const CASES = [
  { ...BASE, names: SINGLE },
  { ...BASE, inFlight: 1, names: SINGLE },
  { ...BASE, inFlight: 1_000, names: SINGLE },
  { ...BASE, subjects: 1, names: SINGLE },
  { ...BASE, subjects: 100_000, names: SINGLE },
  { ...BASE, limits: 3, names: SEVERAL },
  { ...BASE, limits: 5, names: SEVERAL },
  { ...BASE, isDenied: true, names: DENYING },
  { ...BASE, inFlight: 1, subjects: 1, isDenied: true, names: DENYING },
];

/** A quick run does not create the keys of all subjects before a case. */
const QUICK_KNOWN = 1_000;

/** A process gets faster for ten times as many calls as the first case has warm-ups; without these, later cases would look faster. */
const WARM_UPS = 10;

/** With one in flight, most of the time is waiting. */
const CALLS = { alone: 2_000, together: 20_000 };
const QUICK_CALLS = { alone: 500, together: 5_000 };

/** Decisions per second from one process, on each client: every limiter in a process of its own, in turns, on one Redis. */
export async function run({ rounds, isQuick, log }) {
  const redis = await startRedis();
  const names = [...new Set(CASES.flatMap((one) => one.names))];
  const pairs = LIBRARIES.flatMap((library) =>
    names
      .filter((name) => name !== "@fastify/rate-limit" || library === "ioredis")
      .map((name) => ({ name, library })),
  );
  const limiters = await Promise.all(
    pairs.map(async ({ name, library }) => {
      const child = await startProcess(FILE, { name, library, port: redis.port });
      await child.call("verify");
      for (let i = 0; i < WARM_UPS && !isQuick; i += 1)
        await child.call("measure", {
          ...BASE,
          calls: CALLS.together,
          known: BASE.subjects,
          key: `warm-${name}-${library}`,
        });
      return { name, library, child };
    }),
  );
  const rows = [];
  for (const { names: taking, ...setting } of CASES) {
    log(titleOfCase(setting));
    await redis.control.flushall();
    const calls = (isQuick ? QUICK_CALLS : CALLS)[setting.inFlight === 1 ? "alone" : "together"];
    const known = isQuick ? Math.min(setting.subjects, QUICK_KNOWN) : setting.subjects;
    const contestants = limiters
      .filter(({ name }) => taking.includes(name))
      .map(({ name, library, child }) => ({
        row: { suite: "decisions", name, library, ...setting },
        measure: () =>
          measure(redis.control, child, {
            ...setting,
            calls,
            known,
            key: keyOf(name, library, setting),
          }),
      }));
    rows.push(...(await measureInRounds({ rounds, isQuick }, contestants)));
  }
  for (const { child } of limiters) await child.close();
  await redis.close();
  return rows;
}

function keyOf(name, library, { inFlight, subjects, limits, isDenied }) {
  return [name, library, inFlight, subjects, limits, isDenied].join("-").replace(/[^\w.-]/g, "_");
}

async function measure(control, child, load) {
  await control.config("RESETSTAT");
  const cpuFrom = await cpuOf(control);
  const { nanoseconds, cpuMicroseconds } = await child.call("measure", load);
  const redisCpu = (await cpuOf(control)) - cpuFrom;
  const { calls, microseconds } = await scriptTime(control);
  return {
    perSecond: (load.calls * 1e9) / nanoseconds,
    latencyMicroseconds: nanoseconds / load.calls / 1_000,
    nodeMicroseconds: cpuMicroseconds / load.calls,
    redisMicroseconds: microseconds / load.calls,
    redisCpuMicroseconds: redisCpu / load.calls,
    commands: calls / load.calls,
  };
}
