import type { UnreadableRecord } from "./admin-source.ts";

/** A block in force. */
export interface ActiveBlock {
  readonly limiter: string;
  readonly dimension: string;
  /** The subject in plain text; its hash if usage stores hashes and no operator named it. */
  readonly subject?: string | undefined;
  readonly hash?: string | undefined;
  /** The name of the limit that set it; missing if it was set by hand. */
  readonly limit?: string | undefined;
  /** When it ends: milliseconds since the epoch, by the server's clock. */
  readonly until: number;
  /** Whether the limiter is in shadow mode in all processes, so that the block denies no request. */
  readonly shadow: boolean;
  /** For a block by hand in the log: when it was set, in milliseconds since the epoch, by which operator, and for what reason. */
  readonly setAt?: number | undefined;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** The blocks in force of a prefix. */
export interface ActiveBlocks {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** Blocks set by hand, and others that have denied a request since they were set; the longest-lasting first. */
  readonly blocks: readonly ActiveBlock[];
  /** Whether the list had room for all; it holds at most 1,000. */
  readonly isComplete: boolean;
  /** How many listed blocks could not be checked, because no process lists the limits of the limiter. */
  readonly uncheckedCount: number;
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unreadable: readonly UnreadableRecord[];
}
