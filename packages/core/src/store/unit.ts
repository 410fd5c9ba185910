import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { MemoryTable } from "./memory-table.ts";
import type { Moment } from "./store.ts";

/** The limits of one limiter in one dimension, in canonical order. */
export interface UnitLimits {
  readonly limits: readonly CompiledLimit[];
  /** How the Lua twin is told: each one's algorithm and parameters, separated by spaces. */
  readonly description: string;
}

/** One subject in one dimension: the key that holds the states of its limits. */
export interface Unit extends UnitLimits {
  readonly key: string;
}

/** The keys of units: each unit's own, then one for each sliding log in it. */
export function keysOf(units: readonly Unit[]): string[] {
  const keys: string[] = [];
  for (const { key, limits } of units) {
    keys.push(key);
    for (let i = 0; i < limits.length; i += 1) {
      if (limits[i]?.hasLog) keys.push(`${key}:log${i}`);
    }
  }
  return keys;
}

/** How much work units are for the server: 1 for each counter, and for each log as much as is said. */
export function weightOf(units: readonly Unit[], log: number): number {
  let weight = 0;
  for (const { limits } of units) {
    for (let i = 0; i < limits.length; i += 1) {
      const { hasLog, counters = 1 } = limits[i] as CompiledLimit;
      weight += hasLog ? log : counters;
    }
  }
  return weight;
}

/** A unit as this process keeps it. Twin of the packed state in unit.lua. */
export interface OpenUnit {
  stamp: number;
  birth: number;
  readonly states: unknown[];
}

/** The state of a unit, brought to the present in place; a fresh one that is not kept yet when there is none. */
export function openUnit(unit: Unit, memory: MemoryTable, { now, birth }: Moment): OpenUnit {
  const { limits } = unit;
  const open = (memory.get(unit.key) as OpenUnit | undefined) ?? freshUnit(limits, now, birth);
  const { states } = open;
  const elapsed = now - open.stamp;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota } = limits[i] as CompiledLimit;
    algorithm.advance(states[i], quota, elapsed, now);
  }
  open.stamp = now;
  return open;
}

function freshUnit(limits: readonly CompiledLimit[], now: number, birth: number): OpenUnit {
  return {
    stamp: now,
    birth,
    states: limits.map(({ algorithm, quota }) => algorithm.fresh(quota)),
  };
}

/** Keeps a unit that was given back to. */
export function keepUnit(unit: Unit, open: OpenUnit, memory: MemoryTable): void {
  let share = 0;
  let reset = 0;
  for (let i = 0; i < unit.limits.length; i += 1) {
    const { algorithm, quota, limit } = unit.limits[i] as CompiledLimit;
    const report = algorithm.report(open.states[i], quota);
    share = Math.max(share, 1 - report.remaining / limit);
    reset = Math.max(reset, report.reset);
  }
  keepReported(unit, open, share, reset, memory);
}

/** Keeps a unit whose most used limit has used this share, and which is as if unused after `reset` microseconds. */
export function keepReported(
  { key, limits }: Unit,
  open: OpenUnit,
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
