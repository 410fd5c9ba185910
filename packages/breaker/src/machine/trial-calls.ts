import type { BreakerPolicy } from "./breaker-policy.ts";
import type { Period } from "./period.ts";
import { A_DAY, endTrials, FORCED_OPEN, HALF_OPEN, OPEN } from "./period.ts";

/**
 * Ends a trial call: with 0, and 1 more for a failure, 2 more for a slow call, or with -1 for one that says nothing. Returns
 * whether the window is to be emptied.
 */
export function settle(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
  lease: number,
  outcome: number,
): boolean {
  const found = period.leases.findIndex((other) => other.id === lease && other.ends > now);
  if (found === -1) return false;
  period.leases.splice(found, 1);
  period.dirty = true;
  period.expires = now + policy.lease + A_DAY;
  if (outcome < 0) return false;
  period.done += 1;
  period.doneFailures += outcome % 2;
  period.doneSlow += Math.floor(outcome / 2);
  return endTrials(period, policy, id, now);
}

/** Asks for a call: 0 no, -1 yes, or the lease of a trial call. */
export function requestTrial(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
): number {
  if (period.kind === OPEN || period.kind === FORCED_OPEN) return 0;
  if (period.kind !== HALF_OPEN) return -1;
  period.leases = period.leases.filter((lease) => lease.ends > now);
  if (period.done + period.leases.length >= policy.probes) return 0;
  period.leases.push({ id, since: now, ends: now + policy.lease });
  period.dirty = true;
  period.expires = now + policy.lease + A_DAY;
  return id;
}
