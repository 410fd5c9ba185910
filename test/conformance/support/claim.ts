import type { ChargeResult, Decision } from "@headgate/core";
import { expect } from "vitest";
import { isSameDecision } from "./same-decision.ts";

/** Fails with the message of `explain`. Much faster than `expect`, which is too slow for each step of each history. */
export function claim(holds: boolean, explain: () => string): void {
  if (!holds) expect.fail(explain());
}

/** Fails with the difference and the message of `explain` unless two decisions are equal in each field. */
export function claimSame(actual: Decision, expected: Decision, explain = () => ""): void {
  if (!isSameDecision(actual, expected)) expect(actual, explain()).toEqual(expected);
}

/** The same for the results of a charge or a settle. */
export function claimSameCharge(
  actual: ChargeResult,
  expected: ChargeResult,
  explain: () => string,
): void {
  const isSame =
    actual.charged === expected.charged &&
    actual.overflow === expected.overflow &&
    actual.degraded === expected.degraded;
  if (!isSame) expect(actual, explain()).toEqual(expected);
}
