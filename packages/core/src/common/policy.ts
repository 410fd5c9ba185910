import { invalidValue } from "./errors.ts";
import { formatOptions } from "./options.ts";
import type { CheckedDuration, Duration } from "./time.ts";

interface CommonLimit<Per extends string> {
  /** The limit's name, as clients see it: 1 to 64 printable ASCII characters. Default `"<limit>-per-<window>"`. */
  readonly name?: string | undefined;
  /** The dimension that the limit counts by. Default `"default"`; `"global"` counts all clients together. */
  readonly per?: Per | undefined;
}

/**
 * How long blocks last: one length for all of them, or a list for the first in a row, the second and so on (1 to 16; the last
 * one repeats).
 */
type BlockDurations = Duration | readonly Duration[];

/** A block after several denials. */
interface BlockAfterDenials {
  /**
   * The denials by this limit, within its window, that set the block: 1 to 1,000,000. A cost above the whole limit does not count.
   */
  readonly after: number;
  readonly for: BlockDurations;
}

/** A limit on units over time. */
interface RateLimit<Per extends string> extends CommonLimit<Per> {
  /**
   * How long a subject is blocked: from its first denial or, with `{ after, for }`, once it has been denied that often within
   * the limit's window. A list of 1 to 16 durations applies to the first block in a row, the second and so on; the last one
   * repeats. Default: no block.
   */
  readonly block?: BlockDurations | BlockAfterDenials | undefined;
  /**
   * 1 to 8 shares of the limit, above 0 and up to 1, ascending, as in `[0.8, 1]`. When a subject has used such a share,
   * `headgate:threshold` is published, once in a window. Cannot be used with `lease`. Default: nothing is published.
   */
  readonly notifyAt?: readonly number[] | undefined;
}

/** A limit as returned by `gcra`. */
export interface GcraLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "gcra";
  readonly limit: number;
  readonly window: Duration;
  readonly burst?: number | undefined;
}

/** A limit as returned by `tokenBucket`. */
export interface TokenBucketLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "tokenBucket";
  readonly capacity: number;
  readonly refill: number;
  readonly every: Duration;
}

/** A window of the calendar: a day, a week (from Monday), a month or a year in a time zone. */
export type CalendarWindow = "day" | "week" | "month" | "year";

/** A limit as returned by `fixedWindow`. */
export interface FixedWindowLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "fixedWindow";
  readonly limit: number;
  readonly window: Duration | CalendarWindow;
  /**
   * When windows begin: with a subject's first request, or at multiples of `window` since the Unix epoch. Not for a calendar
   * window. Default `"first"`.
   */
  readonly align?: "first" | "clock" | undefined;
  /** The time zone of a calendar window: an IANA name. Default `"UTC"`. */
  readonly timeZone?: string | undefined;
}

/** A limit as returned by `slidingWindow`. */
export interface SlidingWindowLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "slidingWindow";
  readonly limit: number;
  readonly window: Duration;
  readonly buckets?: number | undefined;
}

/** A limit as returned by `slidingLog`. */
export interface SlidingLogLimit<Per extends string = string> extends RateLimit<Per> {
  readonly algorithm: "slidingLog";
  readonly limit: number;
  readonly window: Duration;
}

/** A limit as returned by `concurrency`. */
export interface ConcurrencyLimit<Per extends string = string> extends CommonLimit<Per> {
  readonly algorithm: "concurrency";
  readonly limit: number;
  readonly ttl: Duration;
}

/**
 * One limit as plain data: returned by a builder, or parsed from JSON. Without `Per`, its dimension is not known to the
 * compiler: it is accepted everywhere and checked at run time.
 */
// biome-ignore lint/suspicious/noExplicitAny: with `string`, a function that takes a `Limit` could not pass it on.
export type Limit<Per extends string = any> =
  | GcraLimit<Per>
  | TokenBucketLimit<Per>
  | FixedWindowLimit<Per>
  | SlidingWindowLimit<Per>
  | SlidingLogLimit<Per>
  | ConcurrencyLimit<Per>;

type CheckedBlockDurations<Text extends string> =
  | CheckedDuration<Text>
  | readonly CheckedDuration<Text>[];

/** The durations of limits as builders accept them, so that the compiler finds a misspelt literal. `Text` is inferred. */
export interface CheckedBlock<Text extends string> {
  readonly block?:
    | CheckedBlockDurations<Text>
    | { readonly after: number; readonly for: CheckedBlockDurations<Text> }
    | undefined;
}

export interface CheckedWindow<Text extends string> extends CheckedBlock<Text> {
  readonly window: CheckedDuration<Text>;
}

/*
 * The argument of a builder whose limit names no dimension. Builders have two overloads: with a single one, the compiler would
 * accept any text as the dimension of such a limit, and misspelt ones would pass.
 */
export type WithoutPer<L extends Limit> = Omit<L, "algorithm" | "per"> & {
  readonly per?: undefined;
};
export type WithPer<L extends Limit> = Omit<L, "algorithm" | "per"> & {
  readonly per: NonNullable<L["per"]>;
};

/**
 * One or several limits that are decided together: a request is charged to all of them or to none. Without `Per`, their
 * dimensions are checked at run time, as those of `Limit`.
 */
// biome-ignore lint/suspicious/noExplicitAny: see `Limit`.
export type Policy<Per extends string = any> = Limit<Per> | readonly Limit<Per>[];

/** When limits set their blocks: on a denial, or when a charge is settled and enough of it is confirmed. */
export type BlockOn = "denial" | "settle";

/** When limits with `block` set their blocks. Throws `HEADGATE_INVALID_OPTION`. */
export function readBlockOn(blockOn: unknown = "denial"): BlockOn {
  if (blockOn === "denial" || blockOn === "settle") return blockOn;
  throw invalidValue('blockOn must be "denial" or "settle"', blockOn);
}

/** The dimension of limits that do not name one. */
export const DEFAULT_DIMENSION = "default";

/** The dimension with a single subject for all clients. */
export const GLOBAL_DIMENSION = "global";

/** The numbers of a limit as clients see them. */
export interface LimitDescription {
  /** The limit's name, printable ASCII. */
  readonly name: string;
  /** The dimension it counts by. */
  readonly per: string;
  /** The most it grants at once, in units. */
  readonly limit: number;
  /**
   * Milliseconds until a fully used limit has recovered, rounded up. For a calendar window: its current length. For
   * `concurrency`: 0, because there is no way to know.
   */
  readonly windowMs: number;
}

/** Formats limits as the calls that build them: `gcra({ limit: 100, window: "1m" })`. Several limits become a list. */
export function formatPolicy(limits: readonly Limit[]): string {
  const written = limits.map(({ algorithm, ...rest }) => `${algorithm}(${formatOptions(rest)})`);
  return written.length === 1 ? String(written[0]) : `[${written.join(", ")}]`;
}
