import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { MemoryTable } from "./memory-table.ts";
import type { Moment } from "./store.ts";

/** The limits of one limiter in one dimension, in canonical order. */
export interface CounterLimits {
  readonly limits: readonly CompiledLimit[];
  /** As the Lua twin takes them: each one's algorithm and parameters, separated by spaces. */
  readonly description: string;
}

/** One subject in one dimension: the key that holds the states of its limits. */
export interface Counter extends CounterLimits {
  readonly key: string;
}

/** The keys of counters: each one's own, then one for each sliding log in it. */
export function keysOf(counters: readonly Counter[]): string[] {
  const keys: string[] = [];
  for (const { key, limits } of counters) {
    keys.push(key);
    for (let i = 0; i < limits.length; i += 1) {
      if (limits[i]?.hasLog) keys.push(`${key}:log${i}`);
    }
  }
  return keys;
}

/** How much work counters are for the server: 1 for each counter, and for each log as much as is said. */
export function weightOf(counters: readonly Counter[], log: number): number {
  let weight = 0;
  for (const { limits } of counters) {
    for (let i = 0; i < limits.length; i += 1) {
      const { hasLog, counters = 1 } = limits[i] as CompiledLimit;
      weight += hasLog ? log : counters;
    }
  }
  return weight;
}

/** A counter as this process keeps it. Twin of the packed state in unit.lua. */
export interface OpenCounter {
  stamp: number;
  generation: number;
  readonly states: unknown[];
}

/** The state of a counter, brought to the present in place; a fresh one that is not kept yet when there is none. */
export function openCounter(counter: Counter, memory: MemoryTable, moment: Moment): OpenCounter {
  const { key, limits } = counter;
  const open = (memory.get(key) as OpenCounter | undefined) ?? freshCounter(limits, moment);
  const { now } = moment;
  const { states } = open;
  const elapsed = now - open.stamp;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota } = limits[i] as CompiledLimit;
    algorithm.advance(states[i], quota, elapsed, now);
  }
  open.stamp = now;
  return open;
}

function freshCounter(limits: readonly CompiledLimit[], moment: Moment): OpenCounter {
  const states = limits.map(({ algorithm, quota }) => algorithm.fresh(quota));
  return { stamp: moment.now, generation: moment.generation, states };
}

/** Keeps a counter that was given back to. */
export function keepCounter(counter: Counter, open: OpenCounter, memory: MemoryTable): void {
  let share = 0;
  let reset = 0;
  for (let i = 0; i < counter.limits.length; i += 1) {
    const { algorithm, quota, limit } = counter.limits[i] as CompiledLimit;
    const report = algorithm.report(open.states[i], quota);
    share = Math.max(share, 1 - report.remaining / limit);
    reset = Math.max(reset, report.reset);
  }
  keepReported(counter, open, share, reset, memory);
}

/** Keeps a counter whose most used limit has used this share, and which is as if unused after `reset` microseconds. */
export function keepReported(
  { key, limits }: Counter,
  open: OpenCounter,
  share: number,
  reset: number,
  memory: MemoryTable,
): void {
  let entries = 0;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, hasLog } = limits[i] as CompiledLimit;
    if (hasLog) entries += algorithm.entries?.(open.states[i]) ?? 0;
  }
  memory.set(key, open, { share, expires: open.stamp + reset, entries }, open.stamp);
}
