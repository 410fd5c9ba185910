import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { CounterShape } from "../scripts/counter-shape.ts";
import { shapeOf } from "../scripts/counter-shape.ts";
import { digitsOf, LONG_DIGITS, NUMBER_DIGITS } from "../scripts/digits.ts";
import type { ShapeScripts } from "../scripts/shape-scripts.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import type { Now, Operation, TwinMemory } from "../store/store.ts";
import type { Block } from "./block.ts";
import { overAt } from "./block.ts";
import { writeTimes } from "./calendar-times.ts";
import type { ThresholdMark } from "./threshold-mark.ts";
import { lastOf } from "./threshold-mark.ts";

/** The limits of one limiter in one dimension, in canonical order. */
export interface CounterLimits {
  readonly limits: readonly CompiledLimit[];
  readonly shape: CounterShape;
  /** The scripts for a single counter of these limits, if the cost is not by name. */
  readonly scripts: ShapeScripts;
  /** The unit counts of all limits, as passed to the scripts. */
  readonly numbers: string;
  /** Their cost for the server, without logs: 1 for each counter that is read. */
  readonly weight: number;
  /** Which of them have a log. */
  readonly logs: readonly number[];
  /** Which of them notify, and so have a mark: this decides, and nothing else, whether a call tells what is reached. */
  readonly thresholdMarks: readonly number[];
  /** What the keys of their logs and marks have behind that of a counter. */
  readonly extraKeys: readonly string[];
  /** The times that their calendars add to a call at a moment; undefined if none has a calendar. */
  readonly timesAt?: ((now: number) => string) | undefined;
}

/** One subject in one dimension: the key that holds the states of its limits. */
export interface Counter extends CounterLimits {
  readonly key: string;
  /** The cost for each limit, if the cost is by name: then all counters of a call have costs. 0 leaves a limit out. */
  readonly costs?: readonly number[] | undefined;
  /** Units of the same request that each limit already holds; given with `costs` only. Default 0. */
  readonly alreadyCharged?: readonly number[] | undefined;
}

/** Prepares limits in canonical order for counting. */
export function counterLimits(limits: readonly CompiledLimit[]): CounterLimits {
  const numbers = limits.flatMap((limit) => limit.numbers);
  const shape = shapeOf(limits.map((limit) => limit.shape));
  const logs = limits.flatMap((limit, i) => (limit.shape.hasLog ? [i] : []));
  const thresholdMarks = limits.flatMap((limit, i) => (limit.shape.notifies ? [i] : []));
  const others = limits.filter((limit) => !limit.shape.hasLog);
  return {
    limits,
    shape,
    scripts: scriptsFor([{ shape }]),
    weight: others.reduce((weight, { counters = 1 }) => weight + counters, 0),
    logs,
    thresholdMarks,
    extraKeys: limits.flatMap(({ shape }, i) => [
      ...(shape.hasLog ? [`:log${i}`] : []),
      ...(shape.notifies ? [`:told${i}`] : []),
    ]),
    numbers: numbers.map((number) => digitsOf(number, NUMBER_DIGITS)).join(""),
    timesAt: writeTimes(limits),
  };
}

/** The numbers of all counters of a call. */
export function numbersOf(counters: readonly Counter[]): string {
  if (counters.length === 1) return (counters[0] as Counter).numbers;
  return counters.map(({ numbers }) => numbers).join("");
}

/** The cost for a limit: one slot of concurrency, whatever the cost, unless the cost is by name. */
export function unitsAt({ costs, limits }: Counter, i: number, cost: number): number {
  return costs?.[i] ?? (limits[i]?.shape.heldFor === undefined ? cost : Math.min(cost, 1));
}

/** Whether a call has a cost for each limit. */
export function areByName(counters: readonly Counter[]): boolean {
  return counters[0]?.costs !== undefined;
}

/** The cost of a call, or its refund, as passed to the scripts: one number for all limits, or one for each. */
export function unitsOf(counters: readonly Counter[], cost: number): string {
  if (!areByName(counters)) return digitsOf(cost, LONG_DIGITS);
  const costs = counters.flatMap((counter) => counter.costs ?? []);
  return costs.map((units) => digitsOf(units, LONG_DIGITS)).join("");
}

/** The keys of counters: each one's own, then for each limit in it those of its sliding log and its mark. */
export function keysOf(counters: readonly Counter[]): string[] {
  const keys: string[] = [];
  for (const { key, extraKeys } of counters) {
    keys.push(key);
    for (const beside of extraKeys) keys.push(key + beside);
  }
  return keys;
}

/** The cost of counters for the server: 1 for each counter that is read, and `log` for each log. */
export function weightOf(counters: readonly Counter[], log: number): number {
  let sum = 0;
  for (const { weight, logs } of counters) sum += weight + log * logs.length;
  return sum;
}

/** The scripts for a call on counters. */
export function scriptsOf(counters: readonly Counter[]): ShapeScripts {
  const [first] = counters as readonly [Counter];
  return counters.length === 1 && first.costs === undefined ? first.scripts : scriptsFor(counters);
}

/** A call on counters. */
export interface CounterCall {
  readonly counters: readonly Counter[];
}

/** Shared by all steps on counters: each runs a script composed for their shapes. */
export const onCounters: Pick<Operation<CounterCall>, "kind" | "line" | "keys"> &
  Required<Pick<Operation<CounterCall>, "times">> = {
  kind: "decide",
  line: ({ counters }) => scriptsOf(counters),
  times({ counters }, clock, guess) {
    let now: number | undefined;
    let times = "";
    for (let u = 0; u < counters.length; u += 1) {
      const { timesAt } = counters[u] as Counter;
      if (timesAt === undefined) continue;
      now ??= clock === "" ? guess() : Number(clock);
      times += timesAt(now);
    }
    return times;
  },
  keys: ({ counters }) => keysOf(counters),
};

/** A counter in this process: the fields of its value in Redis, see counter.lua. */
export interface OpenCounter {
  stamp: number;
  generation: number;
  /** When it is unused again, by the limits' numbers when it was last stored; microseconds since the epoch. */
  expires: number;
  readonly states: unknown[];
  /** Undefined if it is not blocked, and no level is remembered. */
  block: Block | undefined;
  /** The marks of its limits, by their position; undefined if there are none. */
  marks: (ThresholdMark | undefined)[] | undefined;
}

/** The state of a counter, brought up to date in place; if there is none, a fresh one that is not stored yet. */
export function openCounter(counter: Counter, memory: TwinMemory, moment: Now): OpenCounter {
  const { key, limits } = counter;
  const open = (memory.get(key) as OpenCounter | undefined) ?? freshCounter(limits, moment);
  const { now } = moment;
  const elapsed = now - open.stamp;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota } = limits[i] as CompiledLimit;
    algorithm.advance(open.states[i], quota, elapsed, now);
  }
  open.stamp = now;
  if (open.block !== undefined && overAt(open.block) <= now) open.block = undefined;
  return open;
}

function freshCounter(limits: readonly CompiledLimit[], moment: Now): OpenCounter {
  const states = limits.map(({ algorithm, quota }) => algorithm.fresh(quota));
  return {
    stamp: moment.now,
    generation: moment.generation,
    expires: Number.POSITIVE_INFINITY,
    states,
    block: undefined,
    marks: undefined,
  };
}

/**
 * Writes a report of each limit into a reply, after its wait: the units that remain, microseconds until it is unused, and until
 * more units remain. `at` is the index of the first wait.
 */
export function reportLimits(
  reply: number[],
  at: number,
  limits: readonly CompiledLimit[],
  states: readonly unknown[],
): void {
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota } = limits[i] as CompiledLimit;
    const { remaining, reset, growth } = algorithm.report(states[i], quota);
    const place = at + 4 * i;
    reply[place + 1] = remaining;
    reply[place + 2] = reset;
    reply[place + 3] = growth;
  }
}

/** Stores a counter that was changed. */
export function keepCounter(counter: Counter, open: OpenCounter, memory: TwinMemory): void {
  const reply = new Array<number>(4 * counter.limits.length);
  reportLimits(reply, 0, counter.limits, open.states);
  keepReported(counter, open, reply, 0, true, memory);
}

/** More than the used share of any limit: a subject that is or recently was blocked is evicted last. */
const SHARE_OF_BLOCKED = 2;

/**
 * Stores a counter whose report is in a reply; if it was not changed, only if it becomes unused later than when it was last
 * stored.
 */
export function keepReported(
  { key, limits }: Counter,
  open: OpenCounter,
  reply: readonly number[],
  at: number,
  isChanged: boolean,
  memory: TwinMemory,
): void {
  const { block, marks, stamp, states } = open;
  let share = 0;
  let unused = stamp;
  let entries = 0;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, limit, shape } = limits[i] as CompiledLimit;
    const reset = reply[at + 4 * i + 2] as number;
    const lasts = algorithm.lasts === undefined ? reset : algorithm.lasts(states[i], reset);
    unused = Math.max(unused, stamp + lasts);
    // A limit of 0 counts as completely used.
    share = Math.max(share, 1 - (reply[at + 4 * i + 1] as number) / Math.max(1, limit));
    if (shape.hasLog) entries += algorithm.entries?.(states[i]) ?? 0;
  }
  if (marks !== undefined) unused = Math.max(unused, lastOf(marks));
  if (!isChanged && unused <= open.expires) return;
  open.expires = block === undefined ? unused : Math.max(unused, overAt(block));
  const rank = block === undefined ? share : SHARE_OF_BLOCKED;
  memory.set(key, open, { share: rank, expires: open.expires, entries }, stamp);
}
