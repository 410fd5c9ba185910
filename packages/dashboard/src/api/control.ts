import type { BlockRow, DenyListRow, LogRow, OverrideRow } from "./rows.ts";

export interface ControlView {
  readonly at: number;
  readonly overrides: readonly OverrideRow[];
  readonly blocks: readonly BlockRow[];
  /** Whether `blocks` has all blocks: not if a process does not report usage. */
  readonly hasAllBlocks: boolean;
  readonly denyList: readonly DenyListRow[];
}

export interface LogView {
  readonly at: number;
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** The `before` parameter of the next page; null if this is the last one. */
  readonly next: string | null;
  readonly unreadable: number;
}
