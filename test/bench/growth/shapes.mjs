import assert from "node:assert/strict";
import { join } from "node:path";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { cpuOf, startRedis } from "../start-redis.mjs";

const FILE = join(import.meta.dirname, "../limiter-process.mjs");
const CALLS = 20_000;
const QUICK_CALLS = 5_000;
const SETTING = { inFlight: 64, subjects: 1_000, known: 5_000, limits: 1, isDenied: false };
/** A limiter's name in the catalogue, by the number of its shapes. */
const LIMITERS = { 1: "Headgate", 50: "Headgate, 50 shapes" };

/** One process whose decisions are all of one shape, and one whose decisions are of fifty in turns, of up to three limits. */
export async function growShapes({ rounds, isQuick }) {
  const measured = [];
  for (const [shapes, name] of Object.entries(LIMITERS)) {
    const redis = await startRedis();
    const child = await startProcess(FILE, { name, library: "ioredis", port: redis.port });
    const load = { ...SETTING, key: "shapes", calls: isQuick ? QUICK_CALLS : CALLS };
    await child.call("measure", load);
    const info = await redis.control.info("memory");
    const scripts = Number(/number_of_cached_scripts:(\d+)/.exec(info)[1]);
    assert.ok(scripts >= shapes, `${shapes} shapes have ${scripts} scripts`);
    measured.push({
      redis,
      child,
      row: { suite: "growth", what: "shapes", at: Number(shapes), scripts },
      measure: () => measure(redis.control, child, load),
    });
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  for (const { redis, child } of measured) {
    await child.close();
    await redis.close();
  }
  return rows;
}

async function measure(control, child, load) {
  const cpuFrom = await cpuOf(control);
  const { nanoseconds, cpuMicroseconds } = await child.call("measure", load);
  const cpu = (await cpuOf(control)) - cpuFrom;
  return {
    perSecond: (load.calls * 1e9) / nanoseconds,
    nodeMicroseconds: cpuMicroseconds / load.calls,
    redisCpuMicroseconds: cpu / load.calls,
  };
}
