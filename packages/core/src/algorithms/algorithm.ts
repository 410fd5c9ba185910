import type { Limit, LimitDescription } from "../policy.ts";

/** A Lua script as the generator embeds it. */
export interface LuaSource {
  readonly sha1: string;
  readonly source: string;
}

/** What is left of a limit, in whole units and microseconds. */
export interface Report {
  /** Whole units that could be spent now. */
  readonly remaining: number;
  /** Until the limit is as if unused. */
  readonly reset: number;
  /** Until `remaining` grows; 0 when the limit is unused. */
  readonly growth: number;
}

/**
 * Pure arithmetic on one limit's state: no clock, no I/O. Each implementation has a Lua twin
 * with the same arithmetic and the same local names, its functions put together as read-limits.lua says.
 *
 * A state is a working copy, changed in place. It is brought to the present first (`advance`), asked
 * (`wait`), charged only when every limit of the decision allows (`spend`), and told (`report`).
 * Advancing twice is advancing once by the sum, so a state that was advanced and not charged is unchanged.
 */
export interface Algorithm<State, Quota> {
  /** The name the Lua twin goes by on the wire. */
  readonly name: string;
  /** The state of a limit nobody has used. */
  fresh(quota: Quota): State;
  /** A copy to spend from and to report, while the original does not change. */
  copy(state: State): State;
  /** Lets `elapsed` microseconds pass, up to `now` (microseconds since the epoch). */
  advance(state: State, quota: Quota, elapsed: number, now: number): void;
  /** Microseconds until `cost` would be allowed if nobody else spent: 0 is now, `NEVER` is never. */
  wait(state: State, quota: Quota, cost: number): number;
  /** Charges a cost for which `wait` said 0. */
  spend(state: State, quota: Quota, cost: number): void;
  /** Takes back what is left of a cost charged `age` microseconds ago; false when nothing is. */
  refund(state: State, quota: Quota, cost: number, age: number): boolean;
  report(state: State, quota: Quota): Report;
  /** Entries held in a log, for memory bounds; 0 for states of fixed size. */
  entries?(state: State): number;
}

/** A limit that was validated and is ready to be decided. */
export interface CompiledLimit<State = unknown, Quota = unknown> extends LimitDescription {
  /** The limit as it was written. */
  readonly source: Limit;
  readonly algorithm: Algorithm<State, Quota>;
  readonly quota: Quota;
  /** The quota as the Lua twin reads it, in order. */
  readonly parameters: readonly number[];
  /** How many counters a decision reads. Default 1. */
  readonly counters?: number | undefined;
  /** Whether its entries live in a key of their own. */
  readonly hasLog: boolean;
  /** Algorithm and parameters in canonical form: equal exactly when two limits count the same. */
  readonly canonical: string;
}
