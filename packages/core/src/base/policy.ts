import type { CheckedDuration, Duration } from "./time.ts";

interface CommonLimit<Per extends string> {
  /** The limit's name, as clients see it: 1 to 64 printable ASCII characters. Default `"<limit>-per-<window>"`. */
  readonly name?: string | undefined;
  /** The dimension that the limit counts by. Default `"default"`; `"global"` counts everybody together. */
  readonly per?: Per | undefined;
}

/** How long blocks last: all of them, or the first in a row, the second and so on; the last one of 1 to 16 repeats. */
type BlockLengths = Duration | readonly Duration[];

/** A block after several denials. */
interface BlockAfter {
  /** The denials by this limit, within its window, that set the block: 1 to 1,000,000. */
  readonly after: number;
  readonly for: BlockLengths;
}

/** A limit on units over time. */
interface RateLimit<Per extends string> extends CommonLimit<Per> {
  /**
   * How long a subject is blocked: from its first denial, or, with `{ after, for }`, after so many denials within the limit's window.
   * A list of 1 to 16 durations is for the first block in a row, the second and so on; the last one repeats. Default: no block.
   */
  readonly block?: BlockLengths | BlockAfter | undefined;
}

/** A limit as the builder `gcra` returns it. */
export interface GcraLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "gcra";
  readonly limit: number;
  readonly window: Duration;
  readonly burst?: number | undefined;
}

/** A limit as the builder `tokenBucket` returns it. */
export interface TokenBucketLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "tokenBucket";
  readonly capacity: number;
  readonly refill: number;
  readonly every: Duration;
}

/** A window of the calendar: a day, a week (from Monday), a month or a year in a time zone. */
export type CalendarWindow = "day" | "week" | "month" | "year";

/** A limit as the builder `fixedWindow` returns it. */
export interface FixedWindowLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "fixedWindow";
  readonly limit: number;
  readonly window: Duration | CalendarWindow;
  /** When windows begin: with a subject's first request, or at multiples of `window` since the Unix epoch. Not for a calendar window. Default `"first"`. */
  readonly align?: "first" | "clock" | undefined;
  /** The time zone of a calendar window: an IANA name. Default `"UTC"`. */
  readonly timeZone?: string | undefined;
}

/** A limit as the builder `slidingWindow` returns it. */
export interface SlidingWindowLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "slidingWindow";
  readonly limit: number;
  readonly window: Duration;
  readonly buckets?: number | undefined;
}

/** A limit as the builder `slidingLog` returns it. */
export interface SlidingLogLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "slidingLog";
  readonly limit: number;
  readonly window: Duration;
}

/** A limit as the builder `concurrency` returns it. */
export interface ConcurrencyLimit<Per extends string = string> extends CommonLimit<Per> {
  readonly algorithm: "concurrency";
  readonly limit: number;
  readonly ttl: Duration;
}

/** One limit as plain data: what a builder returns, and what JSON may hold. */
export type Limit<Per extends string = string> =
  | GcraLimit<Per>
  | TokenBucketLimit<Per>
  | FixedWindowLimit<Per>
  | SlidingWindowLimit<Per>
  | SlidingLogLimit<Per>
  | ConcurrencyLimit<Per>;

type CheckedLengths<Text extends string> = CheckedDuration<Text> | readonly CheckedDuration<Text>[];

/** Durations of limits as builders take them: the compiler finds a misspelt literal. `Text` is inferred. */
export interface CheckedBlock<Text extends string> {
  readonly block?:
    | CheckedLengths<Text>
    | { readonly after: number; readonly for: CheckedLengths<Text> }
    | undefined;
}

export interface CheckedWindow<Text extends string> extends CheckedBlock<Text> {
  readonly window: CheckedDuration<Text>;
}

/*
 * What a builder takes when the compiler knows whether a dimension is named, in two overloads: were they one, it would take
 * any text for the dimension of a limit that names none, and let misspelt ones pass.
 */
export type WithoutPer<L extends Limit> = Omit<L, "algorithm" | "per"> & {
  readonly per?: undefined;
};
export type WithPer<L extends Limit> = Omit<L, "algorithm" | "per"> & {
  readonly per: NonNullable<L["per"]>;
};

/** One or several limits that are decided together: a request is charged to all of them, or to none. */
export type Policy<Per extends string = string> = Limit<Per> | readonly Limit<Per>[];

/** When limits set their blocks: on a denial, or when a charge is settled, by the units that it keeps. */
export type BlockOn = "denial" | "settle";

/** The dimension of limits that do not name one. */
export const DEFAULT_DIMENSION = "default";

/** The dimension with a single subject: everybody. */
export const GLOBAL_DIMENSION = "global";

/** A limit in the numbers that clients are told. */
export interface LimitDescription {
  /** The limit's name, printable ASCII. */
  readonly name: string;
  /** The dimension it counts by. */
  readonly per: string;
  /** The most it grants at once, in units. */
  readonly limit: number;
  /**
   * Milliseconds until a fully used limit is unused again, rounded up. For a calendar window: its current length. For `concurrency`: 0,
   * because nobody knows.
   */
  readonly windowMs: number;
}
