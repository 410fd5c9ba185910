import type { CountedOutcome } from "./call-outcome.ts";

/** The number of calls; failures and slow calls are some of them. */
export interface CallCounts {
  readonly calls: number;
  readonly failures: number;
  readonly slowCalls: number;
}

/** Outcomes that will be added to a window. */
export interface OutcomeBatch {
  readonly size: number;
  add(outcome: CountedOutcome): void;
  /** Encodes the outcomes for the window's Lua twin. */
  toString(): string;
}

/**
 * Which outcomes count. Times are microseconds since the epoch, `size` is the window's length in microseconds or in calls.
 * The state is changed in place.
 */
export interface Window<
  State extends CallCounts = CallCounts,
  Batch extends OutcomeBatch = OutcomeBatch,
> {
  readonly kind: "time" | "calls";
  createEmpty(now: number, size: number): State;
  /** Forgets outcomes that do not count any more. Returns whether the clock stepped back. */
  advance(state: State, now: number, size: number): boolean;
  /** Counts outcomes. */
  add(state: State, outcomes: Batch, now: number, size: number): void;
  /** Microseconds after which a window without new outcomes is the same as none. */
  retentionMicros(size: number): number;
  /** Creates an empty batch. It drops outcomes that cannot count. */
  createBatch(size: number): Batch;
}
