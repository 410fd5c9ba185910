import type { Counts, Coverage, Point, Span } from "./usage.ts";

/** The subject's value for each dimension; for a breaker, its target under `target`. */
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
  /** The number of limiters and breakers that the process has but does not list. */
  readonly unlistedCount: number;
  /** When it last reported usage; null if unknown. */
  readonly reportedAt: number | null;
  /** Whether it has not reported for so long that the counts are too low. */
  readonly isSilent: boolean;
}

export interface LimiterSummary {
  readonly name: string;
  readonly totals: Counts;
  /** The sparkline's steps, which are longer than the overview's; empty after the first 100 limiters. */
  readonly series: readonly Point[];
  /** The limits of the first version of the policy, one text each. */
  readonly limits: readonly string[];
  /** The number of different policies that processes have under this name. */
  readonly versions: number;
  /** The number of processes that list it; 0 for a limiter that only has usage. */
  readonly processes: number;
  /** Whether it is in shadow mode in every process, and so denies no request. */
  readonly shadow: boolean;
  readonly overrides: number;
}

export interface Overview {
  readonly at: number;
  readonly span: Span;
  readonly store: { readonly latencyMs: number };
  /** The limiters that the visitor may see. Requests that only a limiter in shadow mode would deny count as allowed. */
  readonly totals: Counts;
  /** The length of a step of each series, in milliseconds: 10 seconds, 10 minutes, or an hour. */
  readonly stepMs: number;
  readonly series: readonly Point[];
  /** Of the last minute that all processes have reported, regardless of the span. */
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
    /** Whether `blocks` counts all blocks. */
    readonly hasAllBlocks: boolean;
  };
  readonly coverage: Coverage;
  /** The number of records that could not be read; if there are any, the view may be incomplete. */
  readonly unreadable: number;
}
