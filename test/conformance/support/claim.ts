import type { ChargeResult, Decision } from "@headgate/core";
import { expect } from "vitest";
import { isSameDecision } from "./same-decision.ts";

/** Fails with what `explain` says. Free while the claim holds, where `expect` is too slow for every step of every history. */
export function claim(holds: boolean, explain: () => string): void {
  if (!holds) expect.fail(explain());
}

/** Fails with the difference, and what `explain` says, unless two decisions say the same in every field. */
export function claimSame(actual: Decision, expected: Decision, explain = () => ""): void {
  if (!isSameDecision(actual, expected)) expect(actual, explain()).toEqual(expected);
}

/** The same for what became of a charge, or a settle. */
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
