/** When a breaker opens and closes. Times are microseconds. */
export interface BreakerPolicy {
  readonly window: Window;
  /** The window's length, or how many calls it holds. */
  readonly windowSize: number;
  readonly minimumCalls: number;
  readonly minimumSuccessRate: number;
  /** Above 1 if no call is slow. */
  readonly slowCallRate: number;
  readonly trialCalls: number;
  /** How long a trial call's lease lasts. */
  readonly leaseMicros: number;
  readonly rampUpMicros: number;
  /** How long it stays open the first, the second, ... time in a row; the last one repeats. */
  readonly openForMicros: readonly number[];
  /** The policy as text, for the Lua twin; target.lua describes it. */
  readonly description: string;
}

/** Whether these calls are worse than the policy allows. */
export function exceedsThresholds(
  policy: BreakerPolicy,
  calls: number,
  failures: number,
  slowCalls: number,
): boolean {
  return (
    (calls - failures) / calls < policy.minimumSuccessRate ||
    slowCalls / calls >= policy.slowCallRate
  );
}

/** How a call counts in a window. */
export type CountedOutcome = "success" | "failure" | "slow-success" | "slow-failure";

/** How an admitted call ended; `"ignore"` if that does not depend on the target. */
export type CallOutcome = CountedOutcome | "ignore";

export function isFailure(outcome: CountedOutcome): boolean {
  return outcome === "failure" || outcome === "slow-failure";
}

export function isSlow(outcome: CountedOutcome): boolean {
  return outcome === "slow-success" || outcome === "slow-failure";
}

/** The number of calls; failures and slow calls are some of them. */
export interface CallCounts {
  readonly calls: number;
  readonly failures: number;
  readonly slowCalls: number;
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

/** Outcomes that will be added to a window. */
export interface OutcomeBatch {
  readonly size: number;
  add(outcome: CountedOutcome): void;
  /** Encodes the outcomes for the window's Lua twin. */
  toString(): string;
}
