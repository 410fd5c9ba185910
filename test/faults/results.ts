import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallerFigures } from "./measure.ts";
import type { StateChanges } from "./state-changes.ts";

/** Where `scripts/fault-table.mjs` finds what was measured last. */
const RESULTS = join(import.meta.dirname, "../../node_modules/.cache/headgate-faults");

/** One round of a fault, in figures. */
export interface RoundFigures {
  readonly seed: number;
  readonly brokenMs: number;
  readonly longestStallMs: number;
  /** The part of the round, 0 to 1, in which the event loop could not run, for whatever reason. */
  readonly stalledShare: number;
  readonly callers: readonly CallerFigures[];
  /** Promises that were rejected with nobody listening, by message: each would have ended the process. */
  readonly unhandled: Readonly<Record<string, number>>;
}

/** What is looked at besides, where Headgate is what is asked. */
export interface HeadgateFigures extends RoundFigures {
  readonly changes: StateChanges;
  /** Listeners on all clients. */
  readonly listenersBefore: number;
  readonly listenersAfter: number;
  /** Megabytes of the heap, after full collections. */
  readonly heapBefore: number;
  readonly heapAfter: number;
  /** Units that the store holds at the end, and those that it admitted since its counts began anew; null where that is unknown. */
  readonly charged: number | null;
  readonly admittedByStore: number | null;
}

export interface Results {
  /** "headgate" or "peers": each has a table of its own. */
  readonly suite: "headgate" | "peers";
  readonly fault: string;
  /** Its place in the table. */
  readonly order: number;
  readonly title: string;
  /** What it ran on, such as "redis 7.0.15, node 20.20.2". */
  readonly ranOn: string;
  readonly rounds: readonly RoundFigures[];
}

/** In the order of the table. */
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
