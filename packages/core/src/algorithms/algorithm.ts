import type { Limit, LimitDescription } from "../common/policy.ts";
import type { Calendar } from "./calendar.ts";

/** A Lua script, as embedded by the generator. */
export interface LuaSource {
  readonly sha1: string;
  readonly source: string;
}

/** Everything about a limit except its unit counts. */
export interface LimitShape {
  /** Equal if and only if two limits count in the same way; part of the key. */
  readonly id: string;
  /** The file of the Lua twin, beside the algorithm. */
  readonly luaFile: string;
  /** The numbers in the state, and how many bytes each takes. */
  readonly state: ReadonlyArray<readonly [name: string, bytes: number]>;
  /** A row of numbers after those of all limits, which the twin reads and writes itself. */
  readonly tail?: { readonly count: number; readonly bytes: number };
  /** The names of its unit counts, in the order in which a call passes them. */
  readonly parameters: readonly string[];
  /** Other names for the same numbers. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Names of the times that a call passes after the numbers of all limits, in microseconds since the epoch. */
  readonly boundaries?: readonly string[];
  /** The values of the constants, which have names in capitals. */
  readonly constants: Readonly<Record<string, string>>;
  /** Other local names that the sections of the twin share. */
  readonly locals?: readonly string[];
  /** Names of the numbers reported with the state. */
  readonly reported?: readonly string[];
  /** Names of state numbers that are times, not amounts: an unused state keeps them. */
  readonly timestamps?: readonly string[];
  /** Whether its entries live in a key of their own. */
  readonly hasLog?: boolean;
  /** For a concurrency limit: how long a slot is held unless it is renewed, in microseconds. */
  readonly slotTtl?: number;
  /** Whether its denials set blocks. */
  readonly blocksOnDenial?: boolean;
  /** Whether it takes several denials to set a block, so that they are counted. */
  readonly countsDenials?: boolean;
  /** Whether confirmed charges set blocks. */
  readonly blocksOnSettle?: boolean;
  /** Whether charges report thresholds. Then it has other scripts, and the same keys. */
  readonly notifies?: boolean;
}

/** How a limit blocks. */
export interface BlockRule {
  /** The lengths in microseconds of the first block in a row, the second, and so on; the last one repeats. 1 to 16 entries. */
  readonly durations: readonly number[];
  /** After this many microseconds without a block, the next one starts again at the first length. */
  readonly quietPeriod: number;
  /** How many denials set a block, counted for `quiet` from the first one; undefined if one denial does. */
  readonly after?: number | undefined;
}

/** When a limit reports that so much of it is used. */
export interface NotifyRule {
  /** The shares of the limit, ascending: 1 to 8 of them. */
  readonly shares: readonly number[];
  /** The units of each share, from 1; none for a limit of 0. */
  readonly units: readonly number[];
  /** Microseconds for which a threshold is not told again, unless the limit has windows of its own. */
  readonly repeatAfter: number;
}

/** The state of a limit for callers, in whole units and microseconds. */
export interface LimitReport {
  /**
   * Whole units that could be spent now. Negative if usage exceeds the limit, because the limit was lowered or a charge
   * exceeded what was left.
   */
  readonly remaining: number;
  /** Until the limit is unused again. */
  readonly resetAfter: number;
  /** Until `remaining` grows; 0 when the limit is unused. */
  readonly refillAfter: number;
}

/**
 * Pure arithmetic on one limit's state: no clock, no I/O. Each implementation has a Lua twin with the same arithmetic and the
 * same local names. The twin decides when counts are in Redis and returns the state, from which this one computes the rest.
 *
 * A state is a working copy, changed in place: it is first brought up to date (`advance`), then checked (`wait`), charged if
 * every limit of the decision allows it or unconditionally (`spend`), and reported (`report`). Advancing twice equals advancing
 * once by the sum, so a state that was advanced but not charged counts as unchanged.
 */
export interface Algorithm<State, Quota> {
  /** The state of an unused limit. */
  createState(quota: Quota): State;
  /**
   * The state that a script returned, from its numbers in the order of the shape; for a log, from the reported numbers. `now`
   * is the time of that state.
   */
  readState(numbers: readonly number[], quota: Quota, now: number): State;
  /** A copy to spend from and report, which leaves the original unchanged. */
  copyState(state: State): State;
  /** Lets `elapsed` microseconds pass, up to `now` (microseconds since the epoch). */
  advance(state: State, quota: Quota, elapsed: number, now: number): void;
  /** Microseconds until `cost` would be allowed if no other request is charged: 0 means now, `NEVER` means never. */
  waitTime(state: State, quota: Quota, cost: number): number;
  /**
   * Charges a cost regardless of how much is left. `beside`: units already charged to the same request; used only by a
   * process's share of a limit.
   */
  spend(state: State, quota: Quota, cost: number, alreadyCharged?: number): void;
  /**
   * Refunds the remainder of a cost charged `age` microseconds ago; false if nothing remains. `beside`: units that stay
   * charged.
   */
  refund(state: State, quota: Quota, cost: number, age: number, stillCharged?: number): boolean;
  report(state: State, quota: Quota): LimitReport;
  /** Entries held in a log, for memory bounds; 0 for states of fixed size. */
  entryCount?(state: State): number;
  /** Microseconds until the state is empty, if that differs from the reported `reset`. */
  lastsFor?(state: State, reset: number): number;
  /** For a concurrency limit, in place of `spend`: takes slots for a holder that has none. */
  acquireSlots?(state: State, quota: Quota, holder: string, count: number): void;
  /** Releases a holder's slots; returns how many it had. */
  releaseSlots?(state: State, holder: string): number;
  /** For a window: microseconds since it began. */
  windowAge?(state: State): number;
  /** For a limit with windows of its own: microseconds until the current one ends. */
  windowLeft?(state: State, quota: Quota): number;
  /**
   * For a limit that blocks on confirmed charges: confirms `units` of the `charged` ones from `age` microseconds ago. `age` is
   * infinite if the charge went to an earlier generation of the counter.
   */
  confirm?(state: State, quota: Quota, units: number, charged: number, age: number): void;
  /** Units confirmed in this window. */
  confirmedUnits?(state: State): number;
  /** For a limit that blocks after several denials: counts one; true if it sets a block. */
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
  /** Its unit counts, in the order that the shape names them. */
  readonly parameters: readonly number[];
  /** How it blocks; undefined if it does not. */
  readonly block?: BlockRule | undefined;
  /** When it notifies; undefined if it does not. */
  readonly notify?: NotifyRule | undefined;
  /** How many counters a decision reads. Default 1. */
  readonly weight?: number | undefined;
  /** Algorithm and parameters in canonical form: equal if and only if the limits are equal. */
  readonly canonical: string;
}
