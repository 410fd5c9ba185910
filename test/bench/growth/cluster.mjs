import { join } from "node:path";
import { CLUSTER_LIBRARIES, titleOf } from "../clients.mjs";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { startCluster } from "../start-cluster.mjs";
import { cpuOf, scriptTime, startRedis } from "../start-redis.mjs";

const FILE = join(import.meta.dirname, "../limiter-process.mjs");
const CALLS = 20_000;
const QUICK_CALLS = 4_000;
const SETTING = { inFlight: 64, subjects: 1_000, known: 1_000, limits: 1, isDenied: false };
const LIMITERS = ["INCR", "Headgate", "rate-limiter-flexible"];
/** rate-limiter-flexible calls functions of Valkey through GLIDE, which Redis lacks. */
const GLIDE_LIMITERS = ["INCR", "Headgate"];

/** The same calls to one server, and to a cluster of three through each client: a thousand subjects in about as many hash slots. */
export async function growCluster({ rounds, isQuick }) {
  const single = await startRedis();
  const cluster = await startCluster(3);
  const { controls, ports: clusterPorts } = cluster;
  const setups = [
    {
      servers: 1,
      library: "ioredis",
      controls: [single.control],
      addresses: { port: single.port },
    },
    ...CLUSTER_LIBRARIES.map((library) => ({
      servers: 3,
      library,
      controls,
      addresses: { clusterPorts },
    })),
  ];
  const measured = [];
  for (const { servers, library, controls, addresses } of setups) {
    for (const name of library === "glide" ? GLIDE_LIMITERS : LIMITERS) {
      const child = await startProcess(FILE, { name, library, ...addresses });
      const key = `${name}-${library}`.replaceAll(/\W+/g, "-");
      const load = { ...SETTING, key, calls: isQuick ? QUICK_CALLS : CALLS };
      measured.push({
        child,
        row: { suite: "growth", what: "servers", at: servers, client: titleOf(library), name },
        measure: () => measure(controls, child, load),
      });
    }
  }
  const rows = await measureInRounds({ rounds, isQuick }, measured);
  for (const { child } of measured) await child.close();
  await cluster.close();
  await single.close();
  return rows;
}

async function measure(controls, child, load) {
  for (const control of controls) await control.config("RESETSTAT");
  const cpuFrom = await totalOf(controls, cpuOf);
  const { nanoseconds, cpuMicroseconds } = await child.call("measure", load);
  const cpu = (await totalOf(controls, cpuOf)) - cpuFrom;
  const calls = await totalOf(controls, async (control) => (await scriptTime(control)).calls);
  return {
    perSecond: (load.calls * 1e9) / nanoseconds,
    nodeMicroseconds: cpuMicroseconds / load.calls,
    redisCpuMicroseconds: cpu / load.calls,
    decisionsPerCall: load.calls / calls,
  };
}

async function totalOf(controls, read) {
  const values = await Promise.all(controls.map(read));
  return values.reduce((total, value) => total + value, 0);
}
