import type { ProcessSummary } from "./fleet.ts";
import type { OverrideRow } from "./rows.ts";
import type { Counts, Coverage, Point, Span } from "./usage.ts";

/** A limiter's policy, with the processes that have it. */
export interface PolicyView {
  /** One text for each limit. */
  readonly limits: readonly string[];
  /** As builder calls; empty if the record was too long to be listed. */
  readonly code: string;
  /** The numbers of each limit that an override may replace, by its name. */
  readonly numbers: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The `id` of each. */
  readonly processes: readonly string[];
  readonly shadow: boolean;
  readonly extends?: string | undefined;
  /** How adapters count requests, one text each. */
  readonly uses: readonly string[];
}

/** The denials by one limit, by blocks, or by all limits whose names are not stored. */
export interface DenialCount {
  readonly cause:
    | { readonly kind: "limit"; readonly limit: string }
    | { readonly kind: "block" }
    | { readonly kind: "otherLimits" };
  readonly denied: number;
}

/** A subject with many requests or denials: at least `count` and at most `count + maxError`. */
export interface TopSubjectRow {
  readonly dimension: string;
  /** In plain text; null if only its hash is stored. */
  readonly subject: string | null;
  readonly hash: string | null;
  readonly count: number;
  readonly maxError: number;
}

export interface LimiterView {
  readonly at: number;
  readonly span: Span;
  readonly name: string;
  /** Whether it is in shadow mode in every process, and so denies no request. */
  readonly shadow: boolean;
  readonly policies: readonly PolicyView[];
  readonly totals: Counts;
  /** As in the overview. */
  readonly stepMs: number;
  readonly series: readonly Point[];
  readonly lastMinute: Counts;
  /** The denials by cause, most first. */
  readonly denials: readonly DenialCount[];
  readonly used: readonly TopSubjectRow[];
  readonly denied: readonly TopSubjectRow[];
  /** The start of the ten minutes from which `used` and `denied` are counted; at most 24 hours ago. */
  readonly topSubjectsFrom: number;
  readonly overrides: readonly OverrideRow[];
  readonly processes: readonly ProcessSummary[];
  readonly coverage: Coverage;
  readonly unreadable: number;
}
