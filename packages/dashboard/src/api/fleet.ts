import type { Counts, Coverage, Point, Span } from "./usage.ts";

/** By dimension; for a breaker, its target as `target`. */
export type SubjectByDimension = Readonly<Record<string, string>>;

export interface ProcessSummary {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** By the process's own clock. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** The version of Headgate. */
  readonly version: string;
  /** How many more limiters and breakers it has than are listed. */
  readonly unlistedCount: number;
  /** When it last reported usage; null if unknown. */
  readonly reportedAt: number | null;
  /** Whether it has not reported for so long that the counts are too low. */
  readonly isSilent: boolean;
}

export interface LimiterSummary {
  readonly name: string;
  readonly totals: Counts;
  /** In longer steps than the overview's own; empty beyond the first 100 limiters. */
  readonly series: readonly Point[];
  /** The limits of the first policy, in words. */
  readonly limits: readonly string[];
  /** How many different policies processes have under this name. */
  readonly versions: number;
  /** How many processes list it; 0 for one that has usage only. */
  readonly processes: number;
  /** Whether it is in shadow mode in every process, and so denies no request. */
  readonly shadow: boolean;
  readonly overrides: number;
}

export interface Overview {
  readonly at: number;
  readonly span: Span;
  readonly store: { readonly latencyMs: number };
  /** For the limiters that the visitor may see. Requests that limiters in shadow mode let through count as allowed. */
  readonly totals: Counts;
  /** The length of a step of each series, in milliseconds: 10 seconds, 10 minutes, or an hour. */
  readonly stepMs: number;
  readonly series: readonly Point[];
  /** Of the last minute that all processes have reported, whatever the span. */
  readonly lastMinute: Counts;
  /** The decisions of limiters in shadow mode: `denied` counts those that they would have denied. */
  readonly shadow: { readonly totals: Counts; readonly lastMinute: Counts };
  /** The length of a step of the series of each limiter. */
  readonly sparklineStepMs: number;
  /** The most denied first; those in shadow mode come last. */
  readonly limiters: readonly LimiterSummary[];
  /** All limiters after the first 500 together; null if there are none, or if limiters are hidden from the visitor. */
  readonly others: Counts | null;
  readonly processes: readonly ProcessSummary[];
  readonly mixedVersions: readonly { readonly name: string; readonly versions: number }[];
  readonly ignoredOverrides: readonly {
    readonly limiter: string;
    readonly subject?: SubjectByDimension | undefined;
    readonly why: string;
  }[];
  readonly active: {
    readonly overrides: number;
    readonly blocks: number;
    readonly denyListEntries: number;
    /** Whether `blocks` is known. */
    readonly hasAllBlocks: boolean;
  };
  readonly coverage: Coverage;
  /** How many records could not be read; if any, the rest may be incomplete. */
  readonly unreadable: number;
}
