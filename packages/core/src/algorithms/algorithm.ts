import type { Limit, LimitDescription } from "../base/policy.ts";
import type { Calendar } from "./calendar.ts";

/** A Lua script as the generator embeds it. */
export interface LuaSource {
  readonly sha1: string;
  readonly source: string;
}

/** Everything about a limit except its numbers of units. */
export interface LimitShape {
  /** Equal if and only if two limits count in the same way: it goes into the key. */
  readonly id: string;
  /** The file of the Lua twin, beside the algorithm. */
  readonly part: string;
  /** The numbers that are kept, and how many bytes each takes. */
  readonly state: ReadonlyArray<readonly [name: string, bytes: number]>;
  /** A row of numbers that follows those of all limits, which the twin reads and writes itself. */
  readonly tail?: { readonly count: number; readonly bytes: number };
  /** The names of its numbers of units, in the order in which a call brings them. */
  readonly numbers: readonly string[];
  /** Other names of the same numbers. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Names of times that a call brings behind the numbers of all limits, in microseconds since the epoch. */
  readonly times?: readonly string[];
  /** The values of the names in capitals. */
  readonly constants: Readonly<Record<string, string>>;
  /** The other names that sections of the twin share. */
  readonly locals?: readonly string[];
  /** Names of the numbers reported with the state. */
  readonly reported?: readonly string[];
  /** Names of numbers that are times, not amounts: an unused state keeps them. */
  readonly dates?: readonly string[];
  /** Whether its entries live in a key of their own. */
  readonly hasLog?: boolean;
  /** For a limit on places: how long a place is held unless it is renewed, in microseconds. */
  readonly heldFor?: number;
  /** Whether its denials block. */
  readonly blocks?: boolean;
  /** Whether several of them do, which it counts. */
  readonly countsDenials?: boolean;
  /** Whether its kept units set blocks. */
  readonly keeps?: boolean;
}

/** How a limit blocks. */
export interface BlockRule {
  /** The lengths in microseconds of the first block in a row, the second, and so on; the last one repeats. 1 to 16 of them. */
  readonly spans: readonly number[];
  /** After at least this many microseconds without another block, the next one is the first again. */
  readonly quiet: number;
  /** Denials that set a block, counted for `quiet` from the first one on; undefined if the first one does. */
  readonly after?: number | undefined;
}

/** What is left of a limit, in whole units and microseconds. */
export interface Report {
  /** Whole units that could be spent now; below 0 if more is used than the limit, because it was higher once or more was charged. */
  readonly remaining: number;
  /** Until the limit is unused again. */
  readonly reset: number;
  /** Until `remaining` grows; 0 when the limit is unused. */
  readonly growth: number;
}

/**
 * Pure arithmetic on one limit's state: no clock, no I/O. Each implementation has a Lua twin
 * with the same arithmetic and the same local names, which decides if counts are in Redis; it returns the state,
 * from which this one computes the rest.
 *
 * A state is a working copy, changed in place. It is brought to the present first (`advance`), asked
 * (`wait`), charged if every limit of the decision allows, or unconditionally (`spend`), and reported (`report`).
 * Advancing twice is advancing once by the sum, so a state that was advanced and not charged is unchanged.
 */
export interface Algorithm<State, Quota> {
  /** The state of an unused limit. */
  fresh(quota: Quota): State;
  /** The state that a script returned, from its numbers in the order of the shape; for a log, from what it reports. `now`: the time of that state. */
  read(numbers: readonly number[], quota: Quota, now: number): State;
  /** A copy to spend from and to report, while the original does not change. */
  copy(state: State): State;
  /** Lets `elapsed` microseconds pass, up to `now` (microseconds since the epoch). */
  advance(state: State, quota: Quota, elapsed: number, now: number): void;
  /** Microseconds until `cost` would be allowed if nobody else spent: 0 is now, `NEVER` is never. */
  wait(state: State, quota: Quota, cost: number): number;
  /** Charges a cost, whatever is left. `beside`: units that the same request was charged before; only a share of a limit uses it. */
  spend(state: State, quota: Quota, cost: number, beside?: number): void;
  /** Takes back what is left of a cost charged `age` microseconds ago; false if nothing is left. `beside`: units that stay charged. */
  refund(state: State, quota: Quota, cost: number, age: number, beside?: number): boolean;
  report(state: State, quota: Quota): Report;
  /** Entries held in a log, for memory bounds; 0 for states of fixed size. */
  entries?(state: State): number;
  /** Microseconds until nothing of the state is left, if that differs from `reset`, which is reported. */
  lasts?(state: State, reset: number): number;
  /** For a limit on places, instead of `spend`: takes places for a holder who has none. */
  hold?(state: State, quota: Quota, holder: string, number: number): void;
  /** Gives a holder's places back; returns how many there were. */
  leave?(state: State, holder: string): number;
  /** Of a window: microseconds since it began. */
  age?(state: State): number;
  /**
   * For a limit that blocks by its kept units: keeps `units` of those that were `charged` `age` microseconds ago; `age` is infinite
   * if another generation of the counter was charged.
   */
  keep?(state: State, quota: Quota, units: number, charged: number, age: number): void;
  /** Units that are kept in this window. */
  kept?(state: State): number;
  /** For a limit that blocks after several denials: counts one; true if it sets a block. */
  deny?(state: State, rule: BlockRule): boolean;
}

/** What an algorithm makes of a limit; `name` is the default one. */
export type CompiledAlgorithm<State = unknown, Quota = unknown> = Omit<
  CompiledLimit<State, Quota>,
  "per" | "source"
>;

/** A limit that was validated and is ready to be decided. */
export interface CompiledLimit<State = unknown, Quota = unknown> extends LimitDescription {
  /** The limit as it was written. */
  readonly source: Limit;
  readonly algorithm: Algorithm<State, Quota>;
  readonly quota: Quota;
  readonly shape: LimitShape;
  /** Where its windows begin, for a calendar window; `windowMs` is then longer than any of them. */
  readonly calendar?: Calendar | undefined;
  /** Its numbers of units, as the shape names them. */
  readonly numbers: readonly number[];
  /** How it blocks; undefined when it does not. */
  readonly block?: BlockRule | undefined;
  /** How many counters a decision reads. Default 1. */
  readonly counters?: number | undefined;
  /** Algorithm and parameters in canonical form: equal if and only if two limits are. */
  readonly canonical: string;
}
