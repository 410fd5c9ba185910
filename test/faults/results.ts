import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallerFigures } from "./measure.ts";
import type { StateChanges } from "./state-changes.ts";

/** The folder from which `scripts/fault-table.mjs` reads the latest results. */
const RESULTS = join(import.meta.dirname, "../../node_modules/.cache/headgate-faults");

/** The measurements of one round of a fault. */
export interface RoundFigures {
  readonly seed: number;
  readonly brokenMs: number;
  readonly longestStallMs: number;
  /** The share of the round, from 0 to 1, in which the event loop did not run, for any reason. */
  readonly stalledShare: number;
  readonly callers: readonly CallerFigures[];
  /** Unhandled rejections, by message: each would have ended the process. */
  readonly unhandled: Readonly<Record<string, number>>;
}

/** The additional measurements of a round against Headgate. */
export interface HeadgateFigures extends RoundFigures {
  readonly changes: StateChanges;
  /** The number of listeners on all clients. */
  readonly listenersBefore: number;
  readonly listenersAfter: number;
  /** Megabytes of heap in use, after full garbage collections. */
  readonly heapBefore: number;
  readonly heapAfter: number;
  /** Units that the store has charged at the end, and those it admitted since its counters started from zero; null if unknown. */
  readonly charged: number | null;
  readonly admittedByStore: number | null;
}

export interface Results {
  /** "headgate" or "peers": each has its own table. */
  readonly suite: "headgate" | "peers";
  readonly fault: string;
  /** The position of its row in the table. */
  readonly order: number;
  readonly title: string;
  /** The versions under test, such as "redis 7.0.15, node 20.20.2". */
  readonly ranOn: string;
  readonly rounds: readonly RoundFigures[];
}

/** The faults, in the order of the table. */
const FAULTS = [
  "killed",
  "frozen",
  "late at boot",
  "restarted empty",
  "replies delayed",
  "replies cut",
  "turned replica",
  "cluster failover",
  "Sentinel failover",
  "out of memory",
  "password changed",
  "scripts flushed",
  "wrong type",
  "TTL removed",
];

export function writeResults(measured: Omit<Results, "order">): void {
  const results: Results = { ...measured, order: FAULTS.indexOf(measured.fault) };
  mkdirSync(RESULTS, { recursive: true });
  const file = `${results.suite}-${results.fault.replaceAll(" ", "-")}.json`;
  writeFileSync(join(RESULTS, file), `${JSON.stringify(results, null, 2)}\n`);
}
