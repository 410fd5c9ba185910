import type { Limit, LimitDescription } from "../common/policy.ts";
import { MAX_DURATION_MS } from "../common/time.ts";
import type { Calendar } from "./calendar.ts";
import { readWindow } from "./read-limit.ts";

/** A Lua script, as embedded by the generator. */
export interface LuaSource {
  readonly sha1: string;
  readonly source: string;
}

/** Everything about a limit except its unit counts. */
export interface LimitShape {
  /** Equal for two limits if and only if they can share a counter. Part of the key. */
  readonly id: string;
  /** The Lua file of the algorithm, without its extension. */
  readonly luaFile: string;
  /** The numbers in the state, and the bytes of each. */
  readonly state: ReadonlyArray<readonly [name: string, bytes: number]>;
  /** A row of numbers after the states of all limits, which the Lua file reads and writes itself. */
  readonly tail?: { readonly count: number; readonly bytes: number };
  /** The names of its parameters, in the order in which a call passes them. */
  readonly parameters: readonly string[];
  /** Other names for the same parameters. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Names of the calendar boundaries that a call passes after the parameters of all limits, in microseconds since the epoch. */
  readonly boundaries?: readonly string[];
  /** The values of constants. Their names are in capitals. */
  readonly constants: Readonly<Record<string, string>>;
  /** Other local names shared by the sections of the Lua file. */
  readonly locals?: readonly string[];
  /** Names of the numbers reported with the state. */
  readonly reported?: readonly string[];
  /** Names of the state numbers that are times, not amounts. A reset keeps them. */
  readonly timestamps?: readonly string[];
  /** Whether its log or its slots are in a key of their own. */
  readonly hasLog?: boolean;
  /** For a concurrency limit: how long a slot is held unless it is renewed, in microseconds. */
  readonly slotTtl?: number;
  /** Whether its denials set blocks. */
  readonly blocksOnDenial?: boolean;
  /** Whether it blocks after several denials, which it counts. */
  readonly countsDenials?: boolean;
  /** Whether confirmed charges set blocks. */
  readonly blocksOnSettle?: boolean;
  /** Whether its charges report thresholds. This changes its scripts, but not its keys. */
  readonly notifies?: boolean;
}

/** How a limit blocks. */
export interface BlockRule {
  /** The lengths in microseconds of the first block in a row, the second, and so on; the last one repeats. 1 to 16 entries. */
  readonly durations: readonly number[];
  /** After this many microseconds without a block, the next block has the first length again. */
  readonly quietPeriod: number;
  /** The denials that set a block, counted for `quietPeriod` from the first one; undefined if a single denial does. */
  readonly after?: number | undefined;
}

/** The thresholds that a limit reports. */
export interface NotifyRule {
  /** The shares of the limit, ascending: 1 to 8 of them. */
  readonly shares: readonly number[];
  /** The units of each share, at least 1; empty for a limit of 0. */
  readonly units: readonly number[];
  /** Microseconds before a threshold is reported again, unless the limit has windows of its own. */
  readonly repeatAfter: number;
}

/** The state of a limit for callers, in whole units and microseconds. */
export interface LimitReport {
  /**
   * Whole units that could be spent now. Negative if usage exceeds the limit, because the limit was lowered or a charge
   * exceeded what was left.
   */
  readonly remaining: number;
  /** Until the limit has fully recovered. */
  readonly resetAfter: number;
  /** Until `remaining` grows; 0 if the limit is unused. */
  readonly refillAfter: number;
}

/**
 * Pure arithmetic on one limit's state: no clock, no I/O. Each algorithm has a Lua twin with the same arithmetic and the
 * same local names. For counters in Redis, the Lua twin decides and returns the state, from which this one computes the
 * report.
 *
 * A state is mutable. It is first updated to the current time (`advance`), then checked (`waitTime`), then charged if every
 * limit of the decision allows it or unconditionally (`spend`), and finally reported (`report`). Advancing twice equals
 * advancing once by the sum, so a state that was advanced but not charged counts as unchanged.
 */
export interface Algorithm<State, Quota> {
  /** The state of an unused limit. */
  createState(quota: Quota): State;
  /**
   * The state that a script returned, from its numbers in the order of the shape; for a log, from the reported numbers.
   * `now` is the time of that state.
   */
  readState(numbers: readonly number[], quota: Quota, now: number): State;
  /**
   * Loads a state from the numbers that `storeState` stored at `at`: as many as the shape has. What `advance` sets may be missing
   * from them. Both are missing for states with a log or slots.
   */
  loadState?(state: State, from: Float64Array, at: number): void;
  storeState?(state: State, to: Float64Array, at: number): void;
  /** A copy of the state. Changes to it leave the original unchanged. */
  copyState(state: State): State;
  /** Lets `elapsed` microseconds pass, up to `now` (microseconds since the epoch). */
  advance(state: State, quota: Quota, elapsed: number, now: number): void;
  /** Microseconds until `cost` is allowed if no other request is charged: 0 if it is now, `NEVER` if it never fits. */
  waitTime(state: State, quota: Quota, cost: number): number;
  /**
   * Charges a cost regardless of how much is left. `alreadyCharged`: units already charged to the same request; only a
   * process's share of a limit uses them.
   */
  spend(state: State, quota: Quota, cost: number, alreadyCharged?: number): void;
  /**
   * Refunds the remainder of a cost charged `age` microseconds ago; false if nothing remains of it. `stillCharged`: units
   * of the same request that stay charged.
   */
  refund(state: State, quota: Quota, cost: number, age: number, stillCharged?: number): boolean;
  report(state: State, quota: Quota): LimitReport;
  /** The entries in a log, for memory bounds. Missing for states of fixed size. */
  entryCount?(state: State): number;
  /** Microseconds until the state is equivalent to an unused one. Missing if that is the reported `resetAfter`. */
  lastsFor?(state: State, reset: number): number;
  /** For a concurrency limit, instead of `spend`: acquires `count` slots for a holder that has none. */
  acquireSlots?(state: State, quota: Quota, holder: string, count: number): void;
  /** Releases the slots of a holder. Returns how many it had. */
  releaseSlots?(state: State, holder: string): number;
  /** For a window: microseconds since it began. */
  windowAge?(state: State): number;
  /** For a limit with windows of its own: microseconds until the current one ends. */
  windowLeft?(state: State, quota: Quota): number;
  /**
   * For a limit that blocks on confirmed charges: confirms `units` of the `charged` units from `age` microseconds ago.
   * `age` is infinite if an earlier generation of the counter was charged.
   */
  confirm?(state: State, quota: Quota, units: number, charged: number, age: number): void;
  /** The units confirmed in the current window. */
  confirmedUnits?(state: State): number;
  /** For a limit that blocks after several denials: counts a denial. Returns whether it sets a block. */
  countDenial?(state: State, rule: BlockRule): boolean;
}

/** The result of compiling a limit; `name` is the default one. */
export type CompiledAlgorithm<State = unknown, Quota = unknown> = Omit<
  CompiledLimit<State, Quota>,
  "per" | "source"
>;

/** A validated limit, ready for decisions. */
export interface CompiledLimit<State = unknown, Quota = unknown> extends LimitDescription {
  /** The limit as configured. */
  readonly source: Limit;
  readonly algorithm: Algorithm<State, Quota>;
  readonly quota: Quota;
  readonly shape: LimitShape;
  /** For a calendar window: where its windows begin. `windowMs` is then longer than any of them. */
  readonly calendar?: Calendar | undefined;
  /** The values of its parameters, in the order of the shape. */
  readonly parameters: readonly number[];
  /** How it blocks; undefined if it does not. */
  readonly block?: BlockRule | undefined;
  /** When it notifies; undefined if it does not. */
  readonly notify?: NotifyRule | undefined;
  /** The work of a decision for the server, in counters that it reads. Default 1. */
  readonly weight?: number | undefined;
  /** Algorithm and parameters in canonical form: equal if and only if the limits are equal. */
  readonly canonical: string;
}

/** How many numbers the state of a limit of this shape has. */
export function numbersIn({ state, tail }: LimitShape): number {
  return state.length + (tail?.count ?? 0);
}

/** The longer of a limit's window and its time to recover in full, in microseconds; for a calendar window, its longest length. */
export function recoveryTimeOf(limit: Limit, { windowMs, calendar }: CompiledLimit): number {
  const longest = Math.min(windowMs, MAX_DURATION_MS) * 1_000;
  if (calendar !== undefined) return longest;
  return Math.max(longest, readWindow(limit, "every" in limit ? "every" : "window"));
}
