import { join } from "node:path";
import { startProcess } from "../other-process.mjs";
import { quantile } from "../statistics.mjs";
import { USEFUL_MS, WORKLOADS } from "./workloads.mjs";

export const CONTENDERS = ["none", "under-pressure", "toobusy-js", "Headgate"];
export const CONNECTIONS = { "keep-alive": true, "one per request": false };

/** Loads as multiples of what the server can handle. The first workload is the one in the picture. */
const LOADS = {
  "5 ms": [0.5, 0.9, 1.5, 3],
  "1–100 ms": [0.9, 3],
  "5 ms, pauses": [0.9, 3],
};
const QUICK_LOADS = { "5 ms": [0.9, 3], "1–100 ms": [3], "5 ms, pauses": [] };

/** under-pressure looks once a second: the first one does not count. */
const TIMES = { warmUpMs: 1_000, measuredMs: 2_000, capacityMs: 1_500 };
const QUICK_TIMES = { warmUpMs: 500, measuredMs: 1_000, capacityMs: 500 };

/** Load before a spike, in it and after it, as multiples. */
const SPIKE = [
  { load: 0.6, ms: 1_500 },
  { load: 5, ms: 1_000 },
  { load: 0.6, ms: 2_500 },
];

/** In a window of this length, after the spike, nearly all requests are useful again. */
const WINDOW_MS = 250;
const NEARLY_ALL = 0.95;

/** Measures all contenders, each case in processes of its own, and each time the contenders one after the other. */
export async function measureShedding({ isQuick, log }) {
  const rows = [];
  for (const workload of Object.keys(WORKLOADS)) {
    for (const connections of Object.keys(CONNECTIONS)) {
      const setting = { workload, connections, isQuick };
      const capacity = await withProcesses({ ...setting, contender: "none" }, (client) =>
        client.call("capacity", timesOf(setting).capacityMs),
      );
      log(`${workload}, ${connections}: ${capacity.toFixed(0)} requests/s`);
      for (const load of (isQuick ? QUICK_LOADS : LOADS)[workload]) {
        for (const contender of CONTENDERS) {
          const figures = await measureLoad({ ...setting, contender }, capacity * load);
          rows.push({ workload, connections, load, contender, capacity, ...figures });
        }
      }
      if (workload !== "5 ms") continue;
      for (const contender of CONTENDERS) {
        const recoveredMs = await measureSpike({ ...setting, contender }, capacity);
        rows.push({ workload, connections, load: "spike", contender, capacity, recoveredMs });
      }
    }
  }
  return rows;
}

function timesOf({ isQuick }) {
  return isQuick ? QUICK_TIMES : TIMES;
}

async function measureLoad(setting, perSecond) {
  const { warmUpMs, measuredMs } = timesOf(setting);
  const all = await withProcesses(setting, (client) =>
    client.call("load", [{ perSecond, ms: warmUpMs + measuredMs }]),
  );
  const sent = all.filter(({ at }) => at >= warmUpMs);
  const handled = sent.filter(({ status }) => status === 200);
  const times = handled.map(({ ms }) => ms);
  const useful = handled.filter(isUseful).length;
  const shed = sent.filter(({ status }) => status === 503).length;
  return {
    usefulPerSecond: (useful * 1_000) / measuredMs,
    shedShare: shed / sent.length,
    lateShare: (sent.length - useful - shed) / sent.length,
    p50Ms: orNull(quantile(times, 0.5)),
    p99Ms: orNull(quantile(times, 0.99)),
  };
}

/** Resolves with the time after a spike until requests are useful again; null if they never were. */
async function measureSpike(setting, capacity) {
  const phases = SPIKE.map(({ load, ms }) => ({ perSecond: capacity * load, ms }));
  const all = await withProcesses(setting, (client) => client.call("load", phases));
  const [before, spike, after] = SPIKE;
  const over = before.ms + spike.ms;
  for (let from = 0; from + WINDOW_MS <= after.ms; from += 50) {
    const sent = all.filter(({ at }) => at >= over + from && at < over + from + WINDOW_MS);
    if (sent.length > 0 && sent.filter(isUseful).length >= NEARLY_ALL * sent.length) return from;
  }
  return null;
}

function isUseful({ status, ms }) {
  return status === 200 && ms <= USEFUL_MS;
}

/** JSON has no NaN. */
function orNull(number) {
  return Number.isNaN(number) ? null : number;
}

async function withProcesses({ contender, workload, connections }, use) {
  const { pauseMs } = WORKLOADS[workload];
  const file = (name) => join(import.meta.dirname, name);
  const server = await startProcess(file("server.mjs"), { contender, pauseMs });
  const port = await server.call("port");
  const keepAlive = CONNECTIONS[connections];
  const client = await startProcess(file("client.mjs"), { port, workload, keepAlive, seed: 1 });
  try {
    return await use(client);
  } finally {
    await client.close();
    await server.close();
  }
}
