// Eight processes that call a provider, and what became of their calls.
import { join } from "node:path";
import { startProcess } from "../../bench/other-process.mjs";

const FILE = join(import.meta.dirname, "process.mjs");

/** Longer than any run takes. */
const DEADLINE_MS = 50_000;

/**
 * @typedef {object} Call
 * @property {string} id
 * @property {string} url
 * @property {string} [method]
 * @property {Record<string, string>} [headers]
 * @property {string} [body]
 */

/** @typedef {{ id: string, status?: number, error?: string, at: number }} Outcome What the program got. */

/**
 * @typedef {object} Report What a process saw since its caller was opened; times are in milliseconds since the Unix epoch.
 * @property {{ id: string, at: number }[]} sent
 * @property {(import("@headgate/fetch").Cooldown & { at: number })[]} cooldowns
 * @property {string[]} warnings The codes of its warnings.
 * @property {number} longestDelayMs The longest turn of its event loop.
 */

/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */

/** Starts the processes. */
export async function startFleet(count = 8) {
  const start = () => startProcess(FILE, {}, ["--no-warnings"]);
  const processes = await Promise.all(Array.from({ length: count }, start));
  /** @param {string} name @param {...unknown} given */
  const all = (name, ...given) => Promise.all(processes.map((one) => one.call(name, ...given)));
  return {
    /** Gives each process a caller: see callers.mjs. @param {{ tool: string, [option: string]: unknown }} setup */
    open: (setup) => all("open", setup),
    /** @param {number} i @param {{ tool: string, [option: string]: unknown }} setup */
    openOne: (i, setup) => processes[i].call("open", setup),
    /**
     * Deals calls to the processes, which send them at once. Resolves when all have ended.
     * @param {readonly Call[]} calls @param {number} [deadlineMs] @returns {Promise<Outcome[]>}
     */
    async run(calls, deadlineMs = DEADLINE_MS) {
      const runs = processes.map((one, i) =>
        one.call(
          "run",
          calls.filter((_, at) => at % processes.length === i),
          deadlineMs,
        ),
      );
      return (await Promise.all(runs)).flat();
    },
    /** Lets one process send calls. @param {number} i @param {readonly Call[]} calls @returns {Promise<Outcome[]>} */
    runOne: (i, calls, deadlineMs = DEADLINE_MS) => processes[i].call("run", calls, deadlineMs),
    /** @returns {Promise<Report[]>} */
    report: () => all("report"),
    /** @returns {Promise<boolean[]>} */
    isDegraded: () => all("isDegraded"),
    /** Kills a process, and starts another one without a caller in its place. @param {number} i */
    async kill(i) {
      await processes[i].close();
      processes[i] = await start();
    },
    closeCallers: () => all("close"),
    stop: () => Promise.all(processes.map((one) => one.close())),
  };
}

/** Calls with ids of their own. @param {number} count @param {(i: number) => Omit<Call, "id">} describe @returns {Call[]} */
export function makeCalls(count, describe, name = "call") {
  return Array.from({ length: count }, (_, i) => ({ id: `${name}-${i}`, ...describe(i) }));
}

/**
 * How many calls the program got no answer of the provider to, and how many the provider acted on twice.
 * @param {readonly Call[]} calls @param {readonly Outcome[]} outcomes
 * @param {readonly import("../../../examples/providers/mock-api.mjs").Arrival[]} arrivals
 */
export function auditCalls(calls, outcomes, arrivals) {
  const done = outcomes.filter(({ status = 0 }) => status >= 200 && status < 300);
  const acted = new Map();
  for (const { headers, isLimited } of arrivals) {
    const id = headers["x-call"];
    if (!isLimited) acted.set(id, (acted.get(id) ?? 0) + 1);
  }
  return {
    lost: calls.length - new Set(done.map(({ id }) => id)).size,
    doubled: [...acted.values()].filter((times) => times > 1).length,
    refused: arrivals.filter(({ isLimited }) => isLimited).length,
  };
}
