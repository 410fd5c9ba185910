import type { UsageCounts, UsageSpan } from "../fleet/usage/read-records.ts";
import type { UnreadRecord } from "./operated-source.ts";

/** Numbers of decisions over time. */
export interface UsageSeries {
  /** In the span that was asked for. */
  readonly total: UsageCounts;
  /** The last hour and the last day, in the order of time, without periods in which nothing was decided. */
  readonly tenSeconds: readonly UsageSpan[];
  readonly tenMinutes: readonly UsageSpan[];
  /** Of a span above 24 hours each of its hours, in the same way; otherwise none. */
  readonly hours: readonly UsageSpan[];
}

/** The denials of one limit. */
export interface LimitDenials {
  /** The dimension and the name of the limit. */
  readonly per: string;
  readonly limit: string;
  /** The number of denials in which it had the longest wait. */
  readonly denied: number;
}

/** The denials of a limiter by limit. Those by `onUnavailable` are of none. */
export interface UsageLimits {
  /** The start of the time that they are about: milliseconds since the epoch. Up to 24 hours whole ten minutes, above whole days by UTC. */
  readonly from: number;
  /** Most denials first. */
  readonly byLimit: readonly LimitDenials[];
  /** The number of denials by a block, whoever set it. */
  readonly byBlock: number;
  /** The number of denials by limits beyond the first 64 of a limiter. */
  readonly more: number;
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

/** How much a limiter decided, in all processes. */
export interface LimiterNumbers extends UsageSeries {
  readonly name: string;
}

/** What a limiter decided, in all processes. */
export interface LimiterUsage extends LimiterNumbers {
  /** Of a span above 24 hours: those of the last 24 hours. */
  readonly subjects: UsageSubjects;
  readonly limits: UsageLimits;
}

/** How much the limiters of a prefix decided. */
export interface UsageNumbers {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** In the order of their names. */
  readonly limiters: readonly LimiterNumbers[];
  /** For all limiters after the first 500 together; missing if there are none. */
  readonly others?: UsageSeries | undefined;
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unread: readonly UnreadRecord[];
}

/** What the limiters of a prefix decided. */
export interface Usage extends UsageNumbers {
  /** In the order of their names. */
  readonly limiters: readonly LimiterUsage[];
}
