import type { UnreadRecord } from "./operated-source.ts";

/** How many decisions there were. */
export interface UsageCounts {
  /** What the limits allowed, and what they, or a block, denied; in shadow, what they would have. */
  readonly allowed: number;
  readonly denied: number;
  /** How many of both were decided without the store. */
  readonly degraded: number;
}

/** Those of ten seconds, or of ten minutes. */
export interface UsageSpan extends UsageCounts {
  /** When it began: milliseconds since the epoch, by the server's clock. */
  readonly from: number;
}

/** What is known of some decisions by time. */
export interface UsageSeries {
  /** In the span that was asked for. */
  readonly total: UsageCounts;
  /** Of the last hour and of the last day, in the order of time, without those in which nothing was decided. */
  readonly tenSeconds: readonly UsageSpan[];
  readonly tenMinutes: readonly UsageSpan[];
}

/** A subject that asked, or was denied, often. */
export interface TopSubject {
  readonly dimension: string;
  /** As it was given, or the hash that stands for it. */
  readonly subject?: string | undefined;
  readonly hash?: string | undefined;
  /** How many decisions there were about it: at least `count`, and at most `error` more. */
  readonly count: number;
  readonly error: number;
}

/** A list of subjects. */
export interface TopList {
  /** At most 50. */
  readonly top: readonly TopSubject[];
  /** How many decisions there were about all subjects; one of several dimensions is about several. */
  readonly total: number;
  /** How many there were at most about a subject that is in no list. */
  readonly unlisted: number;
}

/** Who asked a limiter. */
export interface UsageSubjects {
  /** Since when: the beginning of the ten minutes in which the span began. Milliseconds since the epoch. */
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
  /** Of all limiters that came when there were 500 already; missing where there are none. */
  readonly others?: UsageSeries | undefined;
  /** Where any are, the rest is not whole. */
  readonly unread: readonly UnreadRecord[];
}
