import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startRedis } from "../start-redis.mjs";
import { median } from "../statistics.mjs";

const FILE = join(import.meta.dirname, "../processes/limiter.mjs");
const NAMES = ["Headgate", "rate-limit-redis", "rate-limiter-flexible"];
/** A process starts once: several of them are a round. */
const STARTS = 2;
const QUICK_STARTS = 1;
/** How long a process has run before its commands are counted, and how long they are. */
const SETTLE_MS = 5_000;
const COUNT_MS = 40_000;
const QUICK_SETTLE_MS = 2_000;
const QUICK_COUNT_MS = 10_000;

/** What a process costs apart from its decisions: its first one, and the commands that it sends while it has little to do. */
export async function run({ rounds, isQuick, log }) {
  log("first decision");
  const redis = await startRedis();
  const starts = isQuick ? QUICK_STARTS : STARTS;
  const first = await measureInRounds(
    { rounds, isQuick },
    NAMES.map((name) => ({
      row: { suite: "processes", what: "first decision", name },
      measure: () => measureStarts(redis, name, starts),
    })),
  );
  await redis.close();
  log("commands a second");
  const kinds = NAMES.flatMap((name) => [true, false].map((isBusy) => ({ name, isBusy })));
  const commands = await Promise.all(kinds.map((kind) => countCommands(kind, isQuick)));
  return [...first, ...commands];
}

async function measureStarts({ control, port }, name, starts) {
  const measured = [];
  for (let i = 0; i < starts; i += 1) {
    // The first process of an application: the server knows neither its scripts nor its keys.
    await control.flushall();
    await control.script("FLUSH");
    const child = await startProcess(FILE, { name, port });
    measured.push(await child.call("firstDecision"));
    await child.close();
  }
  const medianOf = (column) => median(measured.map((one) => one[column]));
  return {
    milliseconds: medianOf("milliseconds"),
    cpuMilliseconds: medianOf("cpuMilliseconds"),
  };
}

/** The commands that one process sends to a server of its own; those that its scripts call are none. */
async function countCommands({ name, isBusy }, isQuick) {
  const redis = await startRedis();
  const child = await startProcess(FILE, { name, port: redis.port });
  await child.call("run", isBusy);
  await delay(isQuick ? QUICK_SETTLE_MS : SETTLE_MS);
  const monitor = await redis.control.monitor();
  let commands = 0;
  monitor.on("monitor", (_time, _command, source) => {
    if (source !== "lua") commands += 1;
  });
  const countMs = isQuick ? QUICK_COUNT_MS : COUNT_MS;
  await delay(countMs);
  monitor.disconnect();
  // The process must still be there.
  await child.call("ready");
  await child.close();
  await redis.close();
  const commandsPerSecond = (commands * 1_000) / countMs;
  return { suite: "processes", what: "commands", name, isBusy, commandsPerSecond };
}
