import type { BreakerPolicy } from "./breaker-policy.ts";
import type { Period } from "./period.ts";
import { DAY_MICROS, endHalfOpen, FORCED_OPEN, HALF_OPEN, OPEN } from "./period.ts";

/**
 * Ends a trial call: with 0, and 1 more for a failure, 2 more for a slow call, or with -1 for one that says nothing. Returns
 * whether the window is to be emptied.
 */
export function endTrialCall(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
  leaseId: number,
  outcome: number,
): boolean {
  const found = period.leases.findIndex((other) => other.id === leaseId && other.ends > now);
  if (found === -1) return false;
  period.leases.splice(found, 1);
  period.dirty = true;
  period.expires = now + policy.leaseMicros + DAY_MICROS;
  if (outcome < 0) return false;
  period.done += 1;
  period.doneFailures += outcome % 2;
  period.doneSlow += Math.floor(outcome / 2);
  return endHalfOpen(period, policy, id, now);
}

/** Asks for a call: 0 no, -1 yes, or the lease of a trial call. */
export function requestCall(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
): number {
  if (period.kind === OPEN || period.kind === FORCED_OPEN) return 0;
  if (period.kind !== HALF_OPEN) return -1;
  period.leases = period.leases.filter((lease) => lease.ends > now);
  if (period.done + period.leases.length >= policy.probes) return 0;
  period.leases.push({ id, since: now, ends: now + policy.leaseMicros });
  period.dirty = true;
  period.expires = now + policy.leaseMicros + DAY_MICROS;
  return id;
}
