import type { SubjectByDimension } from "./fleet.ts";
import type { ActionName } from "./session.ts";

/** A block in force. */
export interface BlockRow {
  readonly id: string;
  readonly limiter: string;
  /** Empty if only the hash of the subject is known; then there are no actions on it. */
  readonly subject: SubjectByDimension;
  /** The hash of the subject, if the subject itself is unknown. */
  readonly hash?: string | undefined;
  readonly until: number | null;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  /** The name of the limit that set the block; missing if an operator set it. */
  readonly limit?: string | undefined;
  /** In the list of all blocks: whether the limiter is in shadow mode, so that the block denies no request. */
  readonly shadow?: boolean | undefined;
}

/** An override, in force or about to be. */
export interface OverrideRow {
  readonly id: string;
  readonly limiter: string;
  /** Missing for all subjects. */
  readonly subject?: SubjectByDimension | undefined;
  /** The changes as text. */
  readonly change: string;
  readonly from: number;
  /** Null if it lasts until removed. */
  readonly until: number | null;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  /** Whether the listed processes apply it. */
  readonly coverage: "in-force" | "partial" | "ignored" | "unknown";
  /** The number of processes that apply it. */
  readonly appliedBy: number;
  /** The reasons why other processes ignore it, one text each. */
  readonly ignoredReasons: readonly string[];
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
