import { invalidValue, rejectExtraArgument } from "@headgate/core/internal";
import type { Permit } from "../breaker.ts";
import type { Settings } from "../breaker-options.ts";
import type { Outcome } from "../channels.ts";
import type { CallOutcome, CountedOutcome } from "../machine/breaker-policy.ts";
import type { TargetTracker } from "../tracker/target-tracker.ts";

/** A call that was admitted in one generation of a target. Only its first outcome is recorded. */
export interface AdmittedCall {
  /** Reports the outcome. */
  end(outcome: CallOutcome): Promise<unknown> | undefined;
}

/** Admits a call whose outcome goes into the window. */
export function admitCall(tracker: TargetTracker): AdmittedCall {
  const { generation } = tracker;
  let hasEnded = false;
  return {
    end(outcome) {
      if (hasEnded) return undefined;
      hasEnded = true;
      if (outcome === "ignore") return undefined;
      return tracker.recordOutcome(outcome, generation);
    },
  };
}

/** Admits a trial call, which holds one of the fleet's slots and fails after `trialCallTimeout`. */
export function admitTrialCall(
  tracker: TargetTracker,
  leaseId: number,
  { trialCallTimeoutMs, slowCallMs }: Pick<Settings<never>, "trialCallTimeoutMs" | "slowCallMs">,
): AdmittedCall {
  let hasEnded = false;

  async function end(outcome: CallOutcome): Promise<void> {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    await tracker.endTrialCall(leaseId, outcome);
  }

  const tooLate = countedOutcome("failure", trialCallTimeoutMs > slowCallMs);
  const timer = setTimeout(() => void end(tooLate).catch(() => {}), trialCallTimeoutMs).unref();
  return { end };
}

/** Checks an outcome and its duration. Throws `HEADGATE_INVALID_OPTION`. */
export function readOutcome(
  outcome: Outcome,
  durationMs: number | undefined,
  slowCallMs: number,
): CountedOutcome {
  if (outcome !== "success" && outcome !== "failure") {
    throw invalidValue('outcome must be "success" or "failure"', outcome);
  }
  if (durationMs !== undefined && !(typeof durationMs === "number" && durationMs >= 0)) {
    throw invalidValue("durationMs must be milliseconds, at least 0", durationMs);
  }
  return countedOutcome(outcome, durationMs !== undefined && durationMs > slowCallMs);
}

export function countedOutcome(outcome: Outcome, isSlow: boolean): CountedOutcome {
  if (outcome === "failure") return isSlow ? "slow-failure" : "failure";
  return isSlow ? "slow-success" : "success";
}

/** Creates the permit that `admit` returns. */
export function toPermit(
  admitted: AdmittedCall | undefined,
  { state, retryAfterMs, degraded }: Pick<Permit, "state" | "retryAfterMs" | "degraded">,
  slowCallMs: number,
): Permit {
  return {
    allowed: admitted !== undefined,
    state,
    retryAfterMs,
    degraded,
    async record(outcome, durationMs, more?: unknown) {
      rejectExtraArgument("record(outcome, durationMs)", more);
      await admitted?.end(readOutcome(outcome, durationMs, slowCallMs));
    },
    async release() {
      await admitted?.end("ignore");
    },
  };
}
