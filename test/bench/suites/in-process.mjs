import { join } from "node:path";
import { CALLS } from "../in-process/calls.mjs";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startRedis } from "../start-redis.mjs";

const FILE = join(import.meta.dirname, "../in-process/subject.mjs");
const TIMED = 100_000;
const ALLOCATED = 50_000;
/** MB: as many calls allocate less, so that no collection hides what they do. */
const YOUNG = 512;

/** Measures decisions without a server: their time, and the memory that they leave on the heap. */
export async function run({ rounds, isQuick, log }) {
  const redis = await startRedis();
  const timed = await Promise.all(
    Object.keys(CALLS).map(async (name) => {
      const child = await startProcess(FILE, { name, port: redis.port });
      const measure = () => child.call("time", isQuick ? TIMED / 4 : TIMED);
      return { child, row: { suite: "in-process", name }, measure };
    }),
  );
  log("time");
  const rows = await measureInRounds({ rounds, isQuick }, timed);
  for (const { child } of timed) await child.close();
  log("allocations");
  for (const row of rows) Object.assign(row, await allocationsOf(row.name, redis.port));
  await redis.close();
  return rows;
}

async function allocationsOf(name, port) {
  const flags = ["--expose-gc", `--min-semi-space-size=${YOUNG}`, `--max-semi-space-size=${YOUNG}`];
  const child = await startProcess(FILE, { name, port }, flags);
  const { allocated, retained } = await child.call("allocate", ALLOCATED);
  await child.close();
  return { allocated: Math.round(allocated), retained: Number(retained.toFixed(2)) };
}
