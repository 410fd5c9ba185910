import type { CountedOutcome } from "./call-outcome.ts";

/** The number of calls; failures and slow calls are some of them. */
export interface CallCounts {
  readonly calls: number;
  readonly failures: number;
  readonly slowCalls: number;
}

/** Outcomes on their way to a window, as it counts them. */
export interface OutcomeBatch {
  readonly size: number;
  add(outcome: CountedOutcome): void;
  /** As the Lua twin of the window takes it. */
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
  /** Microseconds after which a window without new outcomes is as good as absent. */
  retentionMicros(size: number): number;
  /** A place for outcomes to come, of which no more are kept than can count. */
  createBatch(size: number): Batch;
}
