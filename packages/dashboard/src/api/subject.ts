import type { SubjectByDimension } from "./fleet.ts";
import type { BlockRow, DenyListRow, LogRow, OverrideRow } from "./rows.ts";

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

/** The client of a lookup, without the value of a header. */
export type LookupClient =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "header"; readonly header: string };

/** The cause of a denial: a limit (without a name if unknown), a block, or the deny list. */
export type DenialCause =
  | { readonly kind: "limit"; readonly limit?: string | undefined }
  | { readonly kind: "block" }
  | { readonly kind: "denyList" };

/** A limit, with a subject's usage. */
export interface LimitRow {
  readonly limit: string;
  readonly per: string;
  /** The limit as text. */
  readonly description: string;
  /** The maximum it allows at once, with the overrides in force. */
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
  /** The cause of the denial; missing if the next request is allowed. */
  readonly deniedBy?: DenialCause | undefined;
  /** When the denial ends; missing if unknown. */
  readonly until?: number | undefined;
  /** Operators' actions on it, newest first. */
  readonly history: readonly LogRow[];
}

export interface SubjectView {
  readonly at: number;
  readonly client: LookupClient;
  readonly limiters: readonly SubjectStatus[];
  /** Limiters that count by other dimensions. */
  readonly skipped: readonly { readonly name: string; readonly countsBy: string }[];
  /** Entries of the deny list that contain the address. */
  readonly denyList: readonly DenyListRow[];
}
