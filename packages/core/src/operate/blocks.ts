import type { UnreadRecord } from "./operated-source.ts";

/** A block in force. */
export interface BlockInForce {
  readonly limiter: string;
  readonly dimension: string;
  /** The subject as it was given; or its hash, where usage has subjects as hashes and no operator named it. */
  readonly subject?: string | undefined;
  readonly hash?: string | undefined;
  /** The name of the limit that has set it; missing if it was set by hand. */
  readonly limit?: string | undefined;
  /** When it ends: milliseconds since the epoch, by the server's clock. */
  readonly until: number;
  /** Whether the limiter is in shadow in all processes, so that the block denies nobody. */
  readonly shadow: boolean;
  /** Of a block by hand that is in the log: when it was set, in milliseconds since the epoch, by whom, and why. */
  readonly setAt?: number | undefined;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** The blocks in force of a prefix. */
export interface Blocks {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** Those that were set by hand, and those that have denied a request since; the one that lasts longest first. */
  readonly blocks: readonly BlockInForce[];
  /** Whether the list had room for all, which are at most 1,000. */
  readonly isWhole: boolean;
  /** How many listed blocks could not be looked at, because no process lists the limits of the limiter. */
  readonly unknown: number;
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unread: readonly UnreadRecord[];
}
