import type { SubjectByDimension } from "./fleet.ts";
import type { BlockRow, DenyListRow, LogRow, OverrideRow } from "./rows.ts";

/** The subject to look up. A header's value is hashed on the server, and is in no response. */
export interface SubjectLookup {
  /** The text of the subject, an IP address, or the value of a header. */
  readonly subject: string;
  readonly as: "text" | "address" | "header";
  /** The header's name; only with `as: "header"`. */
  readonly header?: string | undefined;
  /** Only in this limiter. */
  readonly limiter?: string | undefined;
}

/** A limit, with a subject's usage. */
export interface LimitRow {
  readonly limit: string;
  readonly per: string;
  /** The limit as text. */
  readonly description: string;
  /** The most it grants at once, under the overrides in force. */
  readonly capacity: number;
  readonly used: number;
  readonly remaining: number;
  readonly allowed: boolean;
  /** When it allows the next request; null if never or unknown. */
  readonly nextAllowedAt: number | null;
  /** When it has fully recovered; null if unknown. */
  readonly recoversFullyAt: number | null;
}

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
  /** The name of the limit that denies, `"block"`, or `"deny list"`. */
  readonly deniedBy?: string | undefined;
  /** Until when; missing if unknown. */
  readonly until?: number | undefined;
  /** Operators' actions on it, newest first. */
  readonly history: readonly LogRow[];
}

export interface SubjectView {
  readonly at: number;
  /** The question in words, without the value of a header. */
  readonly asked: string;
  readonly limiters: readonly SubjectStatus[];
  /** Limiters that count by other dimensions. */
  readonly skipped: readonly { readonly name: string; readonly countsBy: string }[];
  /** Entries of the deny list that contain the address. */
  readonly denyList: readonly DenyListRow[];
}
