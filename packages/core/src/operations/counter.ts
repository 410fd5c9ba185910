import type { CompiledLimit, LimitReport } from "../algorithms/algorithm.ts";
import type { Boundaries } from "../algorithms/calendar.ts";
import type { CounterShape } from "../scripts/counter-shape.ts";
import { getShape } from "../scripts/counter-shape.ts";
import { encodeDigits, LONG_DIGITS, PARAMETER_DIGITS } from "../scripts/digits.ts";
import type { ShapeScripts } from "../scripts/shape-scripts.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import type { RowFormat } from "../store/memory-table.ts";
import type { MemoryAccess, Operation, OperationContext } from "../store/store.ts";
import { expiryOf } from "./block.ts";
import type { CounterState, ThresholdMark } from "./counter-state.ts";
import { createCounterState, createRowFormat } from "./counter-state.ts";

/** The limits of one limiter in one dimension, in canonical order. */
export interface CounterLimits {
  readonly limits: readonly CompiledLimit[];
  readonly shape: CounterShape;
  /** The scripts for a single counter of these limits, with one cost for all of them. */
  readonly scripts: ShapeScripts;
  /** The parameters of all limits, as passed to the scripts. */
  readonly encodedParameters: string;
  /** The work for the server, without logs: 1 for each counter that it reads. */
  readonly weight: number;
  /** The indexes of the limits with a log. */
  readonly logLimits: readonly number[];
  /** The indexes of the limits that notify. Only this list decides whether a call reports thresholds. */
  readonly notifyingLimits: readonly number[];
  /** The suffixes that make a counter's key the key of a log or a threshold mark. */
  readonly extraKeys: readonly string[];
  /** The format of their states in memory. */
  readonly rowFormat: RowFormat<CounterState>;
  /** Encodes the calendar boundaries around a time; undefined if no limit has a calendar. */
  readonly boundariesAt?: ((now: number) => string) | undefined;
}

/** One subject in one dimension: the key that holds the states of its limits. */
export interface Counter extends CounterLimits {
  /** Unique within its keyspace; in Redis, unique among all keys. */
  readonly key: string;
  /** Equal for the counters of all subjects that have the same limits, of equal shapes. */
  readonly keyspace: string;
  /** The cost of each limit, if the cost is by name; then every counter of the call has costs. 0 leaves a limit out. */
  readonly costs?: readonly number[] | undefined;
  /** Units of the same request already charged to each limit; only with `costs`. Default 0. */
  readonly alreadyCharged?: readonly number[] | undefined;
}

/** Equal for two counters of a store if and only if they are the same. It has no space, so that several can be joined by one. */
export function identityOf({ keyspace, key }: Counter): string {
  return (keyspace + key).replace(/[% ]/g, encodeURIComponent);
}

/** Prepares limits in canonical order for operations. */
export function prepareLimits(limits: readonly CompiledLimit[]): CounterLimits {
  const parameters = limits.flatMap((limit) => limit.parameters);
  const shape = getShape(limits.map((limit) => limit.shape));
  const logLimits = limits.flatMap((limit, i) => (limit.shape.hasLog ? [i] : []));
  const notifyingLimits = limits.flatMap((limit, i) => (limit.shape.notifies ? [i] : []));
  const others = limits.filter((limit) => !limit.shape.hasLog);
  return {
    limits,
    shape,
    scripts: scriptsFor([{ shape }]),
    weight: others.reduce((weight, { weight: counters = 1 }) => weight + counters, 0),
    logLimits,
    notifyingLimits,
    extraKeys: limits.flatMap(({ shape }, i) => [
      ...(shape.hasLog ? [`:log${i}`] : []),
      ...(shape.notifies ? [`:notified${i}`] : []),
    ]),
    encodedParameters: parameters.map((number) => encodeDigits(number, PARAMETER_DIGITS)).join(""),
    rowFormat: createRowFormat(limits),
    boundariesAt: createBoundaryEncoder(limits),
  };
}

/** The parameters of all counters of a call. */
export function encodeParameters(counters: readonly Counter[]): string {
  if (counters.length === 1) return (counters[0] as Counter).encodedParameters;
  return counters.map(({ encodedParameters }) => encodedParameters).join("");
}

/** The cost for a limit. A concurrency limit is charged one slot, unless the cost is by name. */
export function costAt({ costs, limits }: Counter, i: number, cost: number): number {
  return costs?.[i] ?? (limits[i]?.shape.slotTtl === undefined ? cost : Math.min(cost, 1));
}

/** Whether a call has a cost for each limit. */
export function hasCostsByName(counters: readonly Counter[]): boolean {
  return counters[0]?.costs !== undefined;
}

/** The units of a charge or refund, as passed to the scripts: one number for all limits, or one for each. */
export function encodeCosts(counters: readonly Counter[], cost: number): string {
  if (!hasCostsByName(counters)) return encodeDigits(cost, LONG_DIGITS);
  const costs = counters.flatMap((counter) => counter.costs ?? []);
  return costs.map((units) => encodeDigits(units, LONG_DIGITS)).join("");
}

/** The keys of counters: each counter's key, then the keys of its logs and threshold marks. */
export function keysOf(counters: readonly Counter[]): string[] {
  const keys: string[] = [];
  for (const { key, extraKeys } of counters) {
    keys.push(key);
    for (const extraKey of extraKeys) keys.push(key + extraKey);
  }
  return keys;
}

/** The work for the server: 1 for each counter that it reads, and `logWeight` for each log. */
export function weightOf(counters: readonly Counter[], logWeight: number): number {
  let sum = 0;
  for (const { weight, logLimits } of counters) sum += weight + logWeight * logLimits.length;
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

/** The parts shared by all operations on counters: each runs a script composed for the shapes of the counters. */
export const counterOperation: Pick<Operation<CounterCall>, "kind" | "batchKey" | "keys"> &
  Required<Pick<Operation<CounterCall>, "boundaries">> = {
  kind: "decide",
  batchKey: ({ counters }) => scriptsOf(counters),
  boundaries({ counters }, clock, guess) {
    let now: number | undefined;
    let times = "";
    for (let u = 0; u < counters.length; u += 1) {
      const { boundariesAt } = counters[u] as Counter;
      if (boundariesAt === undefined) continue;
      now ??= clock === "" ? guess() : Number(clock);
      times += boundariesAt(now);
    }
    return times;
  },
  keys: ({ counters }) => keysOf(counters),
};

/**
 * Loads the state of a counter and updates it to the current time. An absent counter gets a new state, which is not stored
 * yet. The state is valid until another counter with these limits is loaded.
 */
export function loadCounter(
  counter: Counter,
  memory: MemoryAccess,
  context: OperationContext,
): CounterState {
  const { limits } = counter;
  const stored = readCounter(counter, memory);
  const state = stored ?? createCounterState(limits, context);
  const { now } = context;
  const elapsed = now - state.stamp;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota } = limits[i] as CompiledLimit;
    algorithm.advance(state.limitStates[i], quota, elapsed, now);
  }
  state.stamp = now;
  // Time passes under the limits of this call, even if it changes nothing else.
  if (stored !== undefined) memory.rewrite(counter.rowFormat, stored);
  if (state.block !== undefined && expiryOf(state.block) <= now) state.block = undefined;
  return state;
}

/** Reads the state of a counter as of its last write; undefined if it is absent. Valid as long as that of `loadCounter`. */
export function readCounter(
  { keyspace, key, rowFormat }: Counter,
  memory: MemoryAccess,
): CounterState | undefined {
  return memory.get(keyspace, key, rowFormat);
}

/** Stores a changed counter. */
export function saveCounter(counter: Counter, state: CounterState, memory: MemoryAccess): void {
  const reports = counter.limits.map(({ algorithm, quota }, i) =>
    algorithm.report(state.limitStates[i], quota),
  );
  saveReportedCounter(counter, state, reports, true, memory);
}

/** Above the used share of any limit, so that subjects with a current or recent block are evicted last. */
const BLOCKED_SHARE = 2;

/**
 * Stores a counter with the reports of its limits. An unchanged counter is stored only if it now recovers later than at the last
 * write.
 */
export function saveReportedCounter(
  { keyspace, key, rowFormat, limits }: Counter,
  state: CounterState,
  reports: readonly LimitReport[],
  isChanged: boolean,
  memory: MemoryAccess,
): void {
  const { block, thresholdMarks, stamp, limitStates } = state;
  let share = 0;
  let unused = stamp;
  let logEntries = 0;
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, limit, shape } = limits[i] as CompiledLimit;
    const { remaining, resetAfter } = reports[i] as LimitReport;
    const lastsFor =
      algorithm.lastsFor === undefined
        ? resetAfter
        : algorithm.lastsFor(limitStates[i], resetAfter);
    unused = Math.max(unused, stamp + lastsFor);
    // A limit of 0 counts as completely used.
    share = Math.max(share, 1 - remaining / Math.max(1, limit));
    if (shape.hasLog) logEntries += algorithm.entryCount?.(limitStates[i]) ?? 0;
  }
  if (thresholdMarks !== undefined) unused = Math.max(unused, lastEndOf(thresholdMarks));
  if (!isChanged && unused <= state.expiresAt) return;
  state.expiresAt = block === undefined ? unused : Math.max(unused, expiryOf(block));
  state.usedShare = block === undefined ? share : BLOCKED_SHARE;
  state.logEntries = logEntries;
  memory.set(keyspace, key, rowFormat, state, state, stamp);
}

/** The time at which the last of some marks ends. */
function lastEndOf(marks: readonly (ThresholdMark | undefined)[]): number {
  return marks.reduce((last, mark) => Math.max(last, mark?.endsAt ?? 0), 0);
}

/** The encoded boundaries of windows; a window's are encoded once. */
const encodedBoundaries = new WeakMap<Boundaries, string>();

/** Creates the function that encodes the calendar boundaries around a time for a call; undefined if no limit has a calendar. */
function createBoundaryEncoder(
  limits: readonly CompiledLimit[],
): ((now: number) => string) | undefined {
  const calendars = limits.flatMap(({ calendar }) => calendar ?? []);
  if (calendars.length === 0) return undefined;
  return (now) =>
    calendars.map((calendar) => encodeBoundaries(calendar.boundariesAround(now))).join("");
}

function encodeBoundaries(boundaries: Boundaries): string {
  const cached = encodedBoundaries.get(boundaries);
  if (cached !== undefined) return cached;
  const text = boundaries.map((boundary) => encodeDigits(boundary, LONG_DIGITS)).join("");
  encodedBoundaries.set(boundaries, text);
  return text;
}
