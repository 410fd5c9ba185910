import type { UsageCounts, UsageSpan } from "../fleet/usage/read-records.ts";
import type { UnreadRecord } from "./operated-source.ts";

/** Numbers of decisions over time. */
export interface UsageSeries {
  /** In the span that was asked for. */
  readonly total: UsageCounts;
  /** The last hour and the last day, in the order of time, without periods in which nothing was decided. */
  readonly tenSeconds: readonly UsageSpan[];
  readonly tenMinutes: readonly UsageSpan[];
}

/** A subject that asked, or was denied, often. */
export interface TopSubject {
  readonly dimension: string;
  /** The subject as it was given, or its hash. */
  readonly subject?: string | undefined;
  readonly hash?: string | undefined;
  /** The number of decisions about it: at least `count`, at most `count + error`. */
  readonly count: number;
  readonly error: number;
}

/** The subjects that asked, or were denied, most. */
export interface TopList {
  /** At most 50. */
  readonly top: readonly TopSubject[];
  /** The number of decisions about all subjects; a decision of several dimensions counts for each. */
  readonly total: number;
  /** The most decisions that a subject outside the list can have. */
  readonly unlisted: number;
}

/** The subjects that asked a limiter. */
export interface UsageSubjects {
  /** The start of the ten minutes in which the span began: milliseconds since the epoch. */
  readonly from: number;
  readonly used: TopList;
  readonly denied: TopList;
}

/** What a limiter decided, in all processes. */
export interface LimiterUsage extends UsageSeries {
  readonly name: string;
  readonly subjects: UsageSubjects;
}

/** What the limiters of a prefix decided. */
export interface Usage {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** In the order of their names. */
  readonly limiters: readonly LimiterUsage[];
  /** For all limiters after the first 500 together; missing if there are none. */
  readonly others?: UsageSeries | undefined;
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unread: readonly UnreadRecord[];
}
