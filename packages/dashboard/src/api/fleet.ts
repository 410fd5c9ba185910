import type { Counts, Coverage, Point, Span } from "./usage.ts";

/** By dimension; of a breaker, its target as `target`. */
export type SubjectOf = Readonly<Record<string, string>>;

export interface ProcessSummary {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** By the process's own clock. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** Of Headgate. */
  readonly version: string;
  /** How many limiters and breakers it has beyond those that are listed. */
  readonly more: number;
  /** When it last reported usage; null where it is not known. */
  readonly reportedAt: number | null;
}

export interface LimiterSummary {
  readonly name: string;
  readonly totals: Counts;
  /** In longer steps than the overview's own; empty for all but the first 100 limiters. */
  readonly series: readonly Point[];
  /** The limits in words, of the first policy. */
  readonly words: readonly string[];
  /** How many different policies processes have under this name. */
  readonly versions: number;
  /** In how many processes it is listed; 0 for one that has usage only. */
  readonly processes: number;
  /** Whether it denies nobody, in any process. */
  readonly shadow: boolean;
  readonly overrides: number;
}

export interface Overview {
  readonly at: number;
  readonly span: Span;
  readonly store: { readonly ok: boolean; readonly latencyMs: number };
  /** Of the limiters that the visitor sees. What limiters in shadow mode let through is allowed. */
  readonly totals: Counts;
  /** The length of a step of each series, in milliseconds: 10 seconds, 10 minutes, or an hour. */
  readonly stepMs: number;
  readonly series: readonly Point[];
  /** What limiters in shadow mode decided: `denied` is what they would have denied. */
  readonly shadow: { readonly totals: Counts; readonly series: readonly Point[] };
  /** The length of a step of the series of each limiter. */
  readonly lineStepMs: number;
  /** The most denied first, those in shadow mode behind. */
  readonly limiters: readonly LimiterSummary[];
  /** All limiters after the first 500 together; null if there are none, or if limiters are hidden from the visitor. */
  readonly others: Counts | null;
  readonly processes: readonly ProcessSummary[];
  readonly mixed: readonly { readonly name: string; readonly versions: number }[];
  readonly ignoredOverrides: readonly {
    readonly limiter: string;
    readonly subject?: SubjectOf | undefined;
    readonly why: string;
  }[];
  readonly inForce: {
    readonly overrides: number;
    readonly blocks: number;
    readonly denied: number;
    /** Whether `blocks` is known. */
    readonly blocksKnown: boolean;
  };
  readonly coverage: Coverage;
  /** How many records could not be read; if any, the rest may be incomplete. */
  readonly unread: number;
}
