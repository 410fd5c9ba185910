import type { Duration } from "./time.ts";

interface CommonLimit<Per extends string> {
  /** What clients are told this limit is called: printable ASCII. Default `"<limit>-per-<window>"`. */
  readonly name?: string | undefined;
  /** The dimension this limit counts by. Default `"default"`; `"global"` counts everybody together. */
  readonly per?: Per | undefined;
}

/** A limit of units in time. */
interface RateLimit<Per extends string> extends CommonLimit<Per> {
  /**
   * How long whoever exceeds it is locked out: a duration, or a list of 1 to 16 for the first block in a row, the second and so on,
   * of which the last one repeats. Default: not at all.
   */
  readonly block?: Duration | readonly Duration[] | undefined;
}

/** See `gcra`. */
export interface GcraLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "gcra";
  readonly limit: number;
  readonly window: Duration;
  readonly burst?: number | undefined;
}

/** See `tokenBucket`. */
export interface TokenBucketLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "tokenBucket";
  readonly capacity: number;
  readonly refill: number;
  readonly every: Duration;
}

/** A window that lasts from the first instant of a day, a week (Monday), a month or a year in a time zone to that of the next. */
export type CalendarWindow = "day" | "week" | "month" | "year";

/** See `fixedWindow`. */
export interface FixedWindowLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "fixedWindow";
  readonly limit: number;
  readonly window: Duration | CalendarWindow;
  /** Not beside a calendar window. */
  readonly align?: "first" | "clock" | undefined;
  /** Whose calendar a calendar window keeps to: an IANA name. Default `"UTC"`. */
  readonly timeZone?: string | undefined;
}

/** See `slidingWindow`. */
export interface SlidingWindowLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "slidingWindow";
  readonly limit: number;
  readonly window: Duration;
  readonly buckets?: number | undefined;
}

/** See `slidingLog`. */
export interface SlidingLogLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "slidingLog";
  readonly limit: number;
  readonly window: Duration;
}

/** See `concurrency`. */
export interface ConcurrencyLimit<Per extends string = string> extends CommonLimit<Per> {
  readonly algorithm: "concurrency";
  readonly limit: number;
  readonly ttl: Duration;
}

/** One rule, as plain data: what a builder returns, and what JSON may hold. */
export type Limit<Per extends string = string> =
  | GcraLimit<Per>
  | TokenBucketLimit<Per>
  | FixedWindowLimit<Per>
  | SlidingWindowLimit<Per>
  | SlidingLogLimit<Per>
  | ConcurrencyLimit<Per>;

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

/** The limits decided together for one request: all allow, or nothing is charged. */
export type Policy<Per extends string = string> = Limit<Per> | readonly Limit<Per>[];

/** What sets the blocks of limits: their denials, or what is kept of the charges that are settled. */
export type BlockOn = "denial" | "settle";

/** The dimension of limits that name none. */
export const DEFAULT_DIMENSION = "default";

/** The dimension that has one subject: everybody. */
export const GLOBAL_DIMENSION = "global";

/** What a limit promises its clients, in the numbers they are told. */
export interface LimitDescription {
  /** The limit's name, printable ASCII. */
  readonly name: string;
  /** The dimension it counts by. */
  readonly per: string;
  /** The most it grants at once, in units. */
  readonly limit: number;
  /**
   * Milliseconds in which `limit` comes back in full, rounded up. By the calendar: the length of the present window. Of places 0, because
   * nobody knows.
   */
  readonly windowMs: number;
}
