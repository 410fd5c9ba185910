import type { BreakerPolicy } from "./breaker-policy.ts";
import type { CallDecision } from "./call-decision.ts";
import { ALLOWED, REJECTED } from "./call-decision.ts";
import type { CallOutcome } from "./call-outcome.ts";
import { isFailure, isSlow } from "./call-outcome.ts";
import type { Period } from "./period.ts";
import { DAY_MICROS, endHalfOpen } from "./period.ts";

/** A trial call that has ended. */
export interface EndedTrialCall {
  readonly leaseId: number;
  readonly outcome: CallOutcome;
}

/** Ends a trial call, whose outcome counts if its lease has not ended. Returns whether the window must be emptied. */
export function endTrialCall(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
  { leaseId, outcome }: EndedTrialCall,
): boolean {
  const found = period.leases.findIndex((other) => other.id === leaseId && other.endsAt > now);
  if (found === -1) return false;
  period.leases.splice(found, 1);
  period.isDirty = true;
  period.expiresAt = now + policy.leaseMicros + DAY_MICROS;
  if (outcome === "ignore") return false;
  period.endedTrials += 1;
  if (isFailure(outcome)) period.failedTrials += 1;
  if (isSlow(outcome)) period.slowTrials += 1;
  return endHalfOpen(period, policy, id, now);
}

/** Decides a call; while half-open, an admitted one is a trial call, whose lease has the id. */
export function requestCall(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
): CallDecision {
  if (period.state === "open" || period.state === "forced-open") return REJECTED;
  if (period.state !== "half-open") return ALLOWED;
  period.leases = period.leases.filter((lease) => lease.endsAt > now);
  if (period.endedTrials + period.leases.length >= policy.trialCalls) return REJECTED;
  period.leases.push({ id, beganAt: now, endsAt: now + policy.leaseMicros });
  period.isDirty = true;
  period.expiresAt = now + policy.leaseMicros + DAY_MICROS;
  return { kind: "trial", leaseId: id };
}
