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
