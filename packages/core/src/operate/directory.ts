import type { BreakerRecord, LimiterRecord } from "../limiter/directory/directory.ts";
import type { UnreadRecord } from "./operated-source.ts";

/** A process that has limiters or breakers. */
export interface DirectoryProcess {
  /** Random, and of no other process. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since the epoch, by its own clock. */
  readonly startedAt: number;
  /** The same by the server's clock, to the second. */
  readonly seenAt: number;
  /** Of Headgate. */
  readonly version: string;
  /** How many limiters and breakers it has beside the 1,000 of a client and prefix that are listed. */
  readonly more: number;
}

/** Who has something that is listed. */
interface Owned {
  /** The `id` of each. */
  readonly processes: readonly string[];
  /** Whether other processes have another policy under its name. */
  readonly isMixed: boolean;
}

/** A limiter, and which processes have it. */
export interface DirectoryLimiter extends LimiterRecord, Owned {}

/** A breaker, and which processes have it. */
export interface DirectoryBreaker extends BreakerRecord, Owned {}

/** Which limiters and breakers there are on one prefix, and in which processes. */
export interface Directory {
  /** In the order of their names. Processes that differ in what is said of a limiter have one each. */
  readonly limiters: readonly DirectoryLimiter[];
  readonly breakers: readonly DirectoryBreaker[];
  readonly processes: readonly DirectoryProcess[];
  /** Where any are, the rest is not whole. */
  readonly unread: readonly UnreadRecord[];
}
