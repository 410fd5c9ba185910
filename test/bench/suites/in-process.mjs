import { join } from "node:path";
import { CALLS } from "../in-process/calls.mjs";
import { hasLeases } from "../limiters/headgate.mjs";
import { startProcess } from "../other-process.mjs";
import { formatNumber, printTable } from "../print.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startRedis } from "../start-redis.mjs";
import { median, spreadOf } from "../statistics.mjs";

const FILE = join(import.meta.dirname, "../in-process/subject.mjs");
const TIMED = 100_000;
const ALLOCATED = 100_000;
/** MB: 100,000 calls allocate less, so that no collection hides what they do. */
const YOUNG = 512;

/** Decisions that no server is asked for: their time, and what they leave on the heap. */
export async function run({ rounds, isQuick, log }) {
  const redis = await startRedis();
  const timed = [];
  for (const name of Object.keys(CALLS).filter((one) => one !== "lease hit" || hasLeases())) {
    const child = await startProcess(FILE, { name, port: redis.port });
    timed.push({
      child,
      row: { suite: "in-process", name },
      measure: () => child.ask("time", isQuick ? TIMED / 4 : TIMED),
    });
  }
  log("time");
  const rows = await measureInRounds(rounds, timed);
  for (const { child } of timed) await child.close();
  log("allocations");
  for (const row of rows) Object.assign(row, await allocationsOf(row.name, redis.port));
  await redis.close();
  return rows;
}

async function allocationsOf(name, port) {
  const flags = ["--expose-gc", `--min-semi-space-size=${YOUNG}`, `--max-semi-space-size=${YOUNG}`];
  const child = await startProcess(FILE, { name, port }, flags);
  const { allocated, retained } = await child.ask("allocate", ALLOCATED);
  await child.close();
  return { allocated: Math.round(allocated), retained: Number(retained.toFixed(2)) };
}

export function print(rows) {
  printTable(
    "In process, one call after another (includes the loop and its await)",
    ["call", "ns", "half of the rounds", "CPU ns", "bytes allocated", "bytes retained"],
    rows
      .filter(({ suite }) => suite === "in-process")
      .map(({ name, nanoseconds, cpuNanoseconds, allocated, retained }) => {
        const { median: middle, low, high } = spreadOf(nanoseconds);
        return [
          name,
          formatNumber(middle),
          `${formatNumber(low)}–${formatNumber(high)}`,
          formatNumber(median(cpuNanoseconds)),
          String(allocated),
          String(retained),
        ];
      }),
  );
}
