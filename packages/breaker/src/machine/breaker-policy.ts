import type { Window } from "./window.ts";

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
