import assert from "node:assert/strict";
import { join } from "node:path";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { scriptTime, startRedis } from "../start-redis.mjs";

const FILE = join(import.meta.dirname, "../limiter-process.mjs");
const MOST = 4;
const CALLS = 20_000;
const QUICK_CALLS = 5_000;
const SETTING = {
  key: "shared",
  inFlight: 64,
  subjects: 1_000,
  known: 1_000,
  limits: 1,
  isDenied: false,
};

/** Processes that make decisions for the same subjects on one Redis at once. */
export async function growProcesses({ rounds, isQuick }) {
  const redis = await startRedis();
  const children = await Promise.all(
    Array.from({ length: MOST }, () =>
      startProcess(FILE, { name: "Headgate", library: "ioredis", port: redis.port }),
    ),
  );
  // All processes together obey one limit.
  const admitted = await Promise.all(children.map((child) => child.call("admitted", 1_000)));
  const total = admitted.reduce((sum, one) => sum + one, 0);
  assert.ok(total === 1_000 || total === 1_001, `${total} of 1,000 were admitted`);

  const calls = isQuick ? QUICK_CALLS : CALLS;
  const rows = await measureInRounds(
    { rounds, isQuick },
    children.map((_, i) => ({
      row: { suite: "growth", what: "processes", at: i + 1 },
      measure: () => measure(redis.control, children.slice(0, i + 1), calls),
    })),
  );
  for (const child of children) await child.close();
  await redis.close();
  return rows;
}

async function measure(control, children, calls) {
  await control.config("RESETSTAT");
  const from = performance.now();
  const taken = await Promise.all(
    children.map((child) => child.call("measure", { ...SETTING, calls })),
  );
  const seconds = (performance.now() - from) / 1_000;
  const { microseconds } = await scriptTime(control);
  const total = calls * children.length;
  const cpu = taken.reduce((sum, { cpuMicroseconds }) => sum + cpuMicroseconds, 0);
  return {
    perSecond: total / seconds,
    redisMicroseconds: microseconds / total,
    nodeMicroseconds: cpu / total,
  };
}
