import { join } from "node:path";
import { CALLS, PER_KEY } from "../in-process/calls.mjs";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startRedis } from "../start-redis.mjs";

const FILE = join(import.meta.dirname, "../in-process/subject.mjs");
const TIMED = 100_000;
const ALLOCATED = 50_000;
const NEW_KEYS = 80_000;
/** MB: as many calls allocate less, so that no collection hides what they do. */
const YOUNG = 512;

/** Measures decisions without a server: their time, and the memory that they leave on the heap. */
export async function run({ rounds, isQuick, log }) {
  const redis = await startRedis();
  const timed = await Promise.all(
    Object.keys(CALLS).map(async (name) => {
      const child = await startProcess(FILE, { name, port: redis.port });
      await child.call("fill");
      const measure = () => child.call("time", isQuick ? TIMED / 4 : TIMED);
      return { child, row: { suite: "in-process", name }, measure };
    }),
  );
  log("time");
  const rows = await measureInRounds({ rounds, isQuick }, timed);
  for (const { child } of timed) await child.close();
  log("allocations");
  for (const row of rows) Object.assign(row, await allocationsOf(row.name, redis.port));
  log("bytes for each key");
  // Of limiters that have few keys before, because stores keep at most so many.
  for (const row of rows.filter(({ name }) => Object.hasOwn(PER_KEY, name))) {
    row.bytesPerKey = await bytesPerKey(row.name, redis.port);
  }
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

async function bytesPerKey(name, port) {
  const child = await startProcess(FILE, { name, port }, ["--expose-gc"]);
  const bytes = await child.call("bytesPerKey", NEW_KEYS);
  await child.close();
  return Math.round(bytes);
}
