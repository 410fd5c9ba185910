import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Boundaries } from "../algorithms/calendar.ts";
import type { CounterShape } from "../scripts/counter-shape.ts";
import { shapeOf } from "../scripts/counter-shape.ts";
import { digitsOf, LONG_DIGITS, NUMBER_DIGITS } from "../scripts/digits.ts";
import type { Block } from "./block.ts";
import { overAt } from "./block.ts";
import type { Moment, TwinMemory } from "./store.ts";

/** The limits of one limiter in one dimension, in canonical order. */
export interface CounterLimits {
  readonly limits: readonly CompiledLimit[];
  readonly shape: CounterShape;
  /** The numbers of units of all limits, as the scripts take them. */
  readonly numbers: string;
  /** The times that their calendars add to a call at a moment; undefined if none has one. */
  readonly timesAt?: ((now: number) => string) | undefined;
}

/** Makes limits in canonical order ready to be counted. */
export function counterLimits(limits: readonly CompiledLimit[]): CounterLimits {
  const numbers = limits.flatMap((limit) => limit.numbers);
  return {
    limits,
    shape: shapeOf(limits.map(({ shape }) => shape)),
    numbers: numbers.map((number) => digitsOf(number, NUMBER_DIGITS)).join(""),
    timesAt: writeTimes(limits),
  };
}

/** The boundaries of windows as the scripts take them, written once while a window lasts. */
const written = new WeakMap<Boundaries, string>();

function writeTimes(limits: readonly CompiledLimit[]): CounterLimits["timesAt"] {
  const calendars = limits.flatMap(({ calendar }) => calendar ?? []);
  if (calendars.length === 0) return undefined;
  return (now) => calendars.map((calendar) => writeBoundaries(calendar.around(now))).join("");
}

function writeBoundaries(boundaries: Boundaries): string {
  const known = written.get(boundaries);
  if (known !== undefined) return known;
  const text = boundaries.map((boundary) => digitsOf(boundary, LONG_DIGITS)).join("");
  written.set(boundaries, text);
  return text;
}

/** One subject in one dimension: the key that holds the states of its limits. */
export interface Counter extends CounterLimits {
  readonly key: string;
  /** What a call asks of each limit, if its cost is by name: then all of its counters have them. 0 leaves a limit out. */
  readonly costs?: readonly number[] | undefined;
  /** Units of the same request that each limit holds beside those; given with `costs` only. Default 0. */
  readonly besides?: readonly number[] | undefined;
}

/** The numbers of all counters of a call. */
export function numbersOf(counters: readonly Counter[]): string {
  const [first] = counters;
  if (counters.length === 1 && first !== undefined) return first.numbers;
  return counters.map(({ numbers }) => numbers).join("");
}

/** The times that a call brings for its counters, as `Step.times` says; empty where no limit has a calendar. */
export function timesOf(counters: readonly Counter[], clock: string, guess: () => number): string {
  let now: number | undefined;
  let times = "";
  for (let u = 0; u < counters.length; u += 1) {
    const { timesAt } = counters[u] as Counter;
    if (timesAt === undefined) continue;
    now ??= clock === "" ? guess() : Number(clock);
    times += timesAt(now);
  }
  return times;
}

/** What a call asks of a limit: one place, whatever it costs elsewhere, unless its cost is by name. */
export function unitsAt({ costs, limits }: Counter, i: number, cost: number): number {
  return costs?.[i] ?? (limits[i]?.shape.heldFor === undefined ? cost : Math.min(cost, 1));
}

/** Whether what a call costs is a number of each limit's own. */
export function areByName(counters: readonly Counter[]): boolean {
  return counters[0]?.costs !== undefined;
}

/** What a call costs, or gives back, as the scripts take it: the units of all limits, or of each. */
export function unitsOf(counters: readonly Counter[], cost: number): string {
  if (!areByName(counters)) return digitsOf(cost, LONG_DIGITS);
  const costs = counters.flatMap((counter) => counter.costs ?? []);
  return costs.map((units) => digitsOf(units, LONG_DIGITS)).join("");
}

/** The keys of counters: each one's own, then one for each sliding log in it. */
export function keysOf(counters: readonly Counter[]): string[] {
  const keys: string[] = [];
  for (const { key, limits } of counters) {
    keys.push(key);
    for (let i = 0; i < limits.length; i += 1) {
      if (limits[i]?.shape.hasLog) keys.push(`${key}:log${i}`);
    }
  }
  return keys;
}

/** How much work counters are for the server: 1 for each counter, and for each log as much as is said. */
export function weightOf(counters: readonly Counter[], log: number): number {
  let weight = 0;
  for (const { limits } of counters) {
    for (let i = 0; i < limits.length; i += 1) {
      const { shape, counters = 1 } = limits[i] as CompiledLimit;
      weight += shape.hasLog ? log : counters;
    }
  }
  return weight;
}

/** The share of a limit that is used; all of a limit of 0. */
export function shareUsed(remaining: number, limit: number): number {
  return 1 - remaining / Math.max(1, limit);
}

/** More than any limit can have used: a subject that is or recently was blocked is dropped last. */
const SHARE_OF_BLOCKED = 2;

/** A counter as this process keeps it: what its value is in Redis, see counter.lua. */
export interface OpenCounter {
  stamp: number;
  generation: number;
  /** When it is unused again, by the numbers with which it was kept last; microseconds since the epoch. */
  expires: number;
  readonly states: unknown[];
  /** Undefined if it is not blocked, and no level is kept. */
  block: Block | undefined;
}

/** The state of a counter, brought to the present in place; a fresh one that is not kept yet when there is none. */
export function openCounter(counter: Counter, memory: TwinMemory, moment: Moment): OpenCounter {
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
  if (open.block !== undefined && overAt(open.block) <= now) open.block = undefined;
  return open;
}

function freshCounter(limits: readonly CompiledLimit[], moment: Moment): OpenCounter {
  const states = limits.map(({ algorithm, quota }) => algorithm.fresh(quota));
  return {
    stamp: moment.now,
    generation: moment.generation,
    expires: Number.POSITIVE_INFINITY,
    states,
    block: undefined,
  };
}

/** Keeps a counter after a refund. */
export function keepCounter(counter: Counter, open: OpenCounter, memory: TwinMemory): void {
  let share = 0;
  let reset = 0;
  for (let i = 0; i < counter.limits.length; i += 1) {
    const { algorithm, quota, limit } = counter.limits[i] as CompiledLimit;
    const report = algorithm.report(open.states[i], quota);
    share = Math.max(share, shareUsed(report.remaining, limit));
    reset = Math.max(reset, algorithm.lasts?.(open.states[i], report.reset) ?? report.reset);
  }
  keepReported(counter, open, share, reset, memory);
}

/** Keeps a counter whose most used limit has used this share, and which is unused again after `reset` microseconds. */
export function keepReported(
  { key, limits }: Counter,
  open: OpenCounter,
  share: number,
  reset: number,
  memory: TwinMemory,
): void {
  let entries = 0;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, shape } = limits[i] as CompiledLimit;
    if (shape.hasLog) entries += algorithm.entries?.(open.states[i]) ?? 0;
  }
  const { block, stamp } = open;
  const unused = stamp + reset;
  open.expires = block === undefined ? unused : Math.max(unused, overAt(block));
  const rank = block === undefined ? share : SHARE_OF_BLOCKED;
  memory.set(key, open, { share: rank, expires: open.expires, entries }, stamp);
}
