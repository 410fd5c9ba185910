import type { UnreadableRecord } from "./admin-source.ts";

/** Numbers of decisions. */
export interface UsageCounts {
  /** Allowed by the limits, and denied by them or by a block; in shadow mode, as it would have been. */
  readonly allowed: number;
  readonly denied: number;
  /** How many of these were decided without the store. */
  readonly degraded: number;
}

/** The decisions of ten seconds, of a minute, or of an hour. */
export interface UsageSpan extends UsageCounts {
  /** When it began: milliseconds since the epoch, by the server's clock. */
  readonly from: number;
}

/** Numbers of decisions over time: steps in chronological order, without those in which nothing was decided. */
export interface UsageSeries {
  /** The decisions of the requested span. */
  readonly total: UsageCounts;
  /** The last 15 minutes. */
  readonly tenSeconds: readonly UsageSpan[];
  /** The minutes of a span up to 24 hours; otherwise empty. */
  readonly minutes: readonly UsageSpan[];
  /** The hours of a span above 24 hours; otherwise empty. */
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

/** The denials of a limiter by limit. Denials by `onUnavailable` do not belong to a limit. */
export interface DenialsByLimit {
  /**
   * The start of the period that they cover, in milliseconds since the epoch: whole ten minutes for spans up to 24 hours, whole
   * UTC days above that.
   */
  readonly from: number;
  /** Most denials first. */
  readonly byLimit: readonly LimitDenials[];
  /** The number of denials by a block of any kind. */
  readonly byBlock: number;
  /** The number of denials by limits for which there was no room: beyond the first 64 of a limiter, or fewer with many limiters. */
  readonly more: number;
}

/** A subject with many requests, or many denials. */
export interface TopSubject {
  readonly dimension: string;
  /** The subject in plain text, or its hash. */
  readonly subject?: string | undefined;
  readonly hash?: string | undefined;
  /** A lower bound of the number of decisions about it, or of its denials. */
  readonly count: number;
  /** The most by which `count` may be too low: the real number is at most `count + error`. */
  readonly error: number;
}

/** The subjects with the most requests, or the most denials. */
export interface TopList {
  /** The subjects with the highest counts, at most 50. */
  readonly top: readonly TopSubject[];
  /** The number of decisions about all subjects; a decision of several dimensions counts for each. */
  readonly total: number;
  /** The most decisions that a subject outside the list can have. */
  readonly maxUnlisted: number;
}

/** The busiest subjects of a limiter. */
export interface SubjectUsage {
  /** The start of the ten minutes in which the span began, at most 24 hours ago: milliseconds since the epoch. */
  readonly from: number;
  /** The subjects with the most decisions; denied ones count too. */
  readonly used: TopList;
  /** The subjects with the most denials. */
  readonly denied: TopList;
}

/** The decisions of a limiter in all processes, as numbers. */
export interface LimiterUsageSummary extends UsageSeries {
  readonly name: string;
}

/** The decisions of a limiter in all processes. */
export interface LimiterUsage extends LimiterUsageSummary {
  /** For a span above 24 hours: the subjects of the last 24 hours. */
  readonly subjects: SubjectUsage;
  readonly limits: DenialsByLimit;
}

/** The decisions of a prefix's limiters, as numbers. */
export interface UsageSummary {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** Ordered by name. */
  readonly limiters: readonly LimiterUsageSummary[];
  /** All limiters beyond the first 500 together; missing if there are none. */
  readonly others?: UsageSeries | undefined;
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unreadable: readonly UnreadableRecord[];
}

/** The decisions of a prefix's limiters. */
export interface Usage extends UsageSummary {
  /** Ordered by name. */
  readonly limiters: readonly LimiterUsage[];
}
