/**
 * The JSON responses of `api/`, which the server writes and the page reads. Times are milliseconds since the epoch by the clock
 * of Redis. Text from Redis may contain anything, and is never markup.
 */

import type { LimitOverride } from "@headgate/core/admin";
import type { Counts, Coverage, Point, Span } from "./counts.ts";

/** The actions of an operator. `forMs` is the duration in milliseconds; null means until it is removed. */
export type Action =
  | {
      readonly kind: "block";
      readonly limiter: string;
      readonly subject: SubjectByDimension;
      readonly forMs: number;
    }
  | {
      readonly kind: "unblock" | "reset" | "forget";
      readonly limiter: string;
      readonly subject: SubjectByDimension;
    }
  | {
      readonly kind: "setOverride";
      readonly limiter: string;
      readonly subject?: SubjectByDimension | undefined;
      readonly limits?: Readonly<Record<string, LimitOverride>> | undefined;
      readonly shadow?: boolean | undefined;
      readonly forMs: number | null;
    }
  | {
      readonly kind: "unsetOverride";
      readonly limiter: string;
      readonly subject?: SubjectByDimension | undefined;
    }
  | { readonly kind: "addToDenyList"; readonly network: string; readonly forMs: number | null }
  | { readonly kind: "removeFromDenyList"; readonly network: string }
  | {
      readonly kind: "breaker";
      readonly breaker: string;
      readonly target: string;
      /** `open` and `close` hold the state until `reset`. */
      readonly order: "open" | "close" | "reset";
    };

/** An action that a visitor may be permitted. */
export type ActionName = Action["kind"];

/** All actions, in the order of the page's lists. */
export const ACTIONS: readonly ActionName[] = [
  "block",
  "unblock",
  "reset",
  "forget",
  "setOverride",
  "unsetOverride",
  "addToDenyList",
  "removeFromDenyList",
  "breaker",
];

/** The effect that an action had. */
export interface CompletedAction {
  /** The states before and after the action, as text with several lines. */
  readonly before: string;
  readonly after: string;
  readonly at: number;
  /** When every process applies it; in a preview, as if it were performed at the time of the preview. */
  readonly effectiveAt: number;
}

/** The effect that an action would have. */
export interface ActionPreview extends CompletedAction {
  /** Valid once, for five minutes, while the state is unchanged. */
  readonly token: string;
  /** Whom the action would affect, by recent usage: sentences, a line each; missing if that is no question. */
  readonly impact?: string | undefined;
}

/** The body of a response with an error status. */
export interface ApiError {
  readonly error: { readonly code: string; readonly message: string };
  /** With 409 on `act`: the action's current preview. */
  readonly preview?: ActionPreview | undefined;
  /** With 503 if Redis does not answer. */
  readonly outage?: Outage | undefined;
}

/** Redis does not answer the dashboard's process. Times are by the clock of that process. */
export interface Outage {
  /** When a read failed for the first time since the last answer. */
  readonly since: number;
  readonly at: number;
  /** The addresses of the servers; empty if unknown, or if limiters are hidden from the visitor. */
  readonly servers: readonly string[];
  /** Whether these are servers of Redis that do not answer; false if the client finds Redis through them, and they may well answer. */
  readonly isDirect: boolean;
  /** How each limiter that the visitor may see decides meanwhile; `localShare` is null unless that is `"local"`. */
  readonly limiters: readonly {
    readonly name: string;
    readonly onUnavailable: "local" | "allow" | "deny";
    readonly localShare: number | null;
  }[];
  /** When the limiters of the fleet were read; null if they are those of the dashboard's process only. */
  readonly listedAt: number | null;
}

/** The visitor's session, from the application's `authorize`. */
export interface Session {
  /** The visitor's name in the log; null if only reading is permitted. */
  readonly by: string | null;
  /** The allowed actions; none if only reading is allowed. */
  readonly actions: readonly ActionName[];
  readonly prefix: string;
  /** The title of the page, as configured by the application. */
  readonly title: string;
  /** How often the page repeats its requests, in milliseconds. */
  readonly pollMs: number;
  /** Whether `redis` has findings. */
  readonly hasDoctor: boolean;
  /** The URL of the application's own runbook; null if there is none. */
  readonly runbook: string | null;
}

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
  /** What other packages list of it, as load shedders do; null if none does. */
  readonly details: Readonly<Record<string, unknown>> | null;
}

/** The decisions over a span, of the fleet or of a limiter. */
export interface UsageView {
  readonly at: number;
  readonly span: Span;
  readonly totals: Counts;
  /** The length of a step of each series, in milliseconds: 10 seconds, 10 minutes, or an hour. */
  readonly stepMs: number;
  readonly series: readonly Point[];
  /** Of the last minute that all processes have reported, regardless of the span. */
  readonly lastMinute: Counts;
  readonly processes: readonly ProcessSummary[];
  readonly coverage: Coverage;
  /** The number of records that could not be read; if there are any, the view may be incomplete. */
  readonly unreadable: number;
}

/** The totals are of the limiters that the visitor may see. Requests that only a limiter in shadow mode would deny count as allowed. */
export interface Overview extends UsageView {
  readonly store: { readonly latencyMs: number };
  /** The decisions of limiters in shadow mode: `denied` counts those that they would have denied. */
  readonly shadow: { readonly totals: Counts; readonly lastMinute: Counts };
  /** The length of a step of the series of each limiter. */
  readonly sparklineStepMs: number;
  /** The most denied first; those in shadow mode come last. */
  readonly limiters: readonly LimiterSummary[];
  /** All limiters after the first 500 together; null if there are none, or if limiters are hidden from the visitor. */
  readonly others: Counts | null;
  /** The subjects with the most denials in the limiters with the most denials, which are not in shadow mode; null if Redis was too slow. */
  readonly denied: readonly (TopSubjectRow & { readonly limiter: string })[] | null;
  /** The start of the ten minutes from which `denied` is counted; at most 24 hours ago. */
  readonly deniedFrom: number;
  readonly mixedVersions: readonly { readonly name: string; readonly versions: number }[];
  readonly ignoredOverrides: readonly {
    readonly limiter: string;
    readonly subject?: SubjectByDimension | undefined;
    readonly why: string;
  }[];
  readonly active: {
    /** Those that no process applies are left out. */
    readonly overrides: number;
    readonly blocks: number;
    readonly denyListEntries: number;
    /** Whether `blocks` counts all blocks. */
    readonly hasAllBlocks: boolean;
  };
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

export interface LimiterView extends UsageView {
  readonly name: string;
  /** Whether it is in shadow mode in every process, and so denies no request. */
  readonly shadow: boolean;
  /** The versions of its policy, that whose processes started first as the first. */
  readonly policies: readonly PolicyView[];
  /** Why there are several, as sentences; empty if there is one. */
  readonly versionNotes: readonly string[];
  /** The denials by cause, most first; those of an unknown cause come last. */
  readonly denials: readonly DenialCount[];
  /** The start of the period that `denials` covers: of the ten minutes, or of the UTC day, in which the span began. */
  readonly denialsFrom: number;
  readonly used: readonly TopSubjectRow[];
  readonly denied: readonly TopSubjectRow[];
  /** The start of the ten minutes from which `used` and `denied` are counted; at most 24 hours ago. */
  readonly topSubjectsFrom: number;
  /** The decisions since then, of which each subject has a share. */
  readonly topSubjectsTotals: Counts;
  readonly overrides: readonly OverrideRow[];
}

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

/**
 * The denials by one limit, by blocks, or by all limits whose names are not stored. Those of an unknown cause are counted, but their
 * limits are not: processes report limits every half minute, and a request denied without Redis by `onUnavailable` has none.
 */
export interface DenialCount {
  readonly cause:
    | { readonly kind: "limit"; readonly limit: string }
    | { readonly kind: "block" }
    | { readonly kind: "otherLimits" }
    | { readonly kind: "unknown" };
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

export interface BreakersView {
  readonly at: number;
  readonly breakers: readonly {
    readonly name: string;
    /** One text for each version of the policy. */
    readonly policy: readonly string[];
    readonly processes: number;
    readonly targets: readonly TargetRow[];
    /** Whether `targets` has all targets. */
    readonly hasAllTargets: boolean;
  }[];
  readonly unreadable: number;
}

export interface TargetRow {
  readonly target: string;
  readonly state: string;
  /** From 0 to 1; null if there were no calls. */
  readonly successRate: number | null;
  readonly calls: number;
  /** When an open target gets trial calls; missing for a target that is forced open. */
  readonly until?: number | undefined;
  /** The latest order of an operator in the log, and the state that it set; missing if there is none. */
  readonly lastOrder?:
    | { readonly at: number; readonly state: string; readonly by: string }
    | undefined;
}

export interface ControlView {
  readonly at: number;
  readonly overrides: readonly OverrideRow[];
  readonly blocks: readonly BlockRow[];
  /** Whether `blocks` has all blocks: not if a process does not report usage. */
  readonly hasAllBlocks: boolean;
  readonly denyList: readonly DenyListRow[];
}

/** An entry of the deny list. */
export interface DenyListRow {
  readonly id: string;
  readonly network: string;
  readonly from: number;
  /** Null if it lasts until removed. */
  readonly until: number | null;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** An override, in force or about to be. */
export interface OverrideRow extends Omit<DenyListRow, "network"> {
  readonly limiter: string;
  /** Missing for all subjects. */
  readonly subject?: SubjectByDimension | undefined;
  /** The changes as text. */
  readonly change: string;
  /** Whether the listed processes apply it. */
  readonly coverage: "in-force" | "partial" | "ignored" | "unknown";
  /** The number of processes that apply it. */
  readonly appliedBy: number;
  /** The reasons why other processes ignore it, one text each. */
  readonly ignoredReasons: readonly string[];
}

/** A block in force. */
export interface BlockRow extends Omit<DenyListRow, "network" | "from"> {
  readonly limiter: string;
  /** Empty if only the hash of the subject is known; then there are no actions on it. */
  readonly subject: SubjectByDimension;
  /** The hash of the subject, if the subject itself is unknown. */
  readonly hash?: string | undefined;
  /** The name of the limit that set the block; missing if an operator or the application set it. */
  readonly limit?: string | undefined;
  /** Which of these two; missing if that is unknown. */
  readonly setBy?: "operator" | "application" | undefined;
  /** In the list of all blocks: whether the limiter is in shadow mode, so that the block denies no request. */
  readonly shadow?: boolean | undefined;
}

export interface LogView {
  readonly at: number;
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** The `before` parameter of the next page; null if this is the last one. */
  readonly next: string | null;
  readonly unreadable: number;
}

/** An action of an operator. */
export interface LogRow {
  readonly at: number;
  readonly kind: ActionName;
  /** The name of the limiter or breaker. */
  readonly limiter?: string | undefined;
  readonly subject?: SubjectByDimension | undefined;
  readonly network?: string | undefined;
  readonly by: string;
  readonly reason?: string | undefined;
  /** The states as text. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

export interface RedisView {
  readonly at: number;
  /** Empty if the application gave no `doctor`. */
  readonly findings: readonly Finding[];
  /** Facts about the server, by name: `version`, `mode`, `role` and others. */
  readonly server: Readonly<Record<string, string | number>>;
  readonly latencyMs: number;
}

export interface Finding {
  /** As `headgate doctor` calls it. */
  readonly level: "ok" | "unknown" | "note" | "warning" | "problem";
  readonly title: string;
  readonly impact?: string | undefined;
  readonly fix?: string | undefined;
  readonly docs?: string | undefined;
}

/** The subject to look up. A header's value is hashed on the server, and is in no response. */
export interface SubjectLookup {
  /** The text of the subject, an IP address, or the value of a header. */
  readonly subject: string;
  readonly kind: "text" | "address" | "header";
  /** The header's name; only with `kind: "header"`. */
  readonly header?: string | undefined;
  /** Only in this limiter. */
  readonly limiter?: string | undefined;
}

export interface SubjectView {
  readonly at: number;
  readonly client: LookupClient;
  readonly limiters: readonly SubjectStatus[];
  /** Limiters that need another subject: each version of their policy. */
  readonly skipped: readonly { readonly name: string; readonly countsBy: string }[];
  /** Entries of the deny list that contain the address. */
  readonly denyList: readonly DenyListRow[];
}

/** The client of a lookup, without the value of a header. */
export type LookupClient =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "header"; readonly header: string };

/** The state of a subject in one limiter. */
export interface SubjectStatus {
  readonly name: string;
  /** Each dimension that was looked up. */
  readonly dimension: string;
  /** By dimension, to be sent back in an action; a header's value as its hash. */
  readonly subject: SubjectByDimension;
  readonly limits: readonly LimitRow[];
  readonly blocks: readonly BlockRow[];
  readonly override?: OverrideRow | undefined;
  /** Whether the next request of one unit is allowed. */
  readonly allowed: boolean;
  /** Whether it would be denied if not for shadow mode. */
  readonly wouldDeny: boolean;
  /** The cause of the denial (a limit has no name if it is unknown); missing if the next request is allowed. */
  readonly deniedBy?:
    | { readonly kind: "limit"; readonly limit?: string | undefined }
    | { readonly kind: "block" | "denyList" }
    | undefined;
  /** When the denial ends; missing if unknown. */
  readonly until?: number | undefined;
  /** Operators' actions on it, newest first. */
  readonly history: readonly LogRow[];
}

/** A limit, with a subject's usage. */
export interface LimitRow {
  readonly limit: string;
  readonly per: string;
  /** The limit as text. */
  readonly description: string;
  /** The maximum it allows at once, with the overrides in force. */
  readonly capacity: number;
  readonly used: number;
  /** Whether these are slots of running requests. */
  readonly hasSlots: boolean;
  readonly remaining: number;
  readonly allowed: boolean;
  /** When it allows the next request; null if never or unknown. */
  readonly nextAllowedAt: number | null;
  /** When it has fully recovered; null if unknown. */
  readonly recoversFullyAt: number | null;
}
