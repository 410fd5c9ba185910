import type { BreakerPolicy, CallCounts, CallOutcome } from "./breaker-policy.ts";
import { exceedsThresholds, isFailure, isSlow } from "./breaker-policy.ts";

/** The state of a target. */
export type BreakerState = "closed" | "open" | "half-open" | ManualState;

/** The states that only operators set. */
type ManualState = "forced-open" | "disabled" | "metrics-only";

/** The id of the period in which a call was admitted; `"any"` for a call that was made without a decision. */
export type AdmittedPeriod = number | "any";

/** Microseconds. */
export const DAY_MICROS = 86_400_000_000;

const MAX_OPENINGS = 65_535;

/** A trial call in flight. */
interface Lease {
  readonly id: number;
  beganAt: number;
  endsAt: number;
}

/** A period of a target in one state, the twin of the record in period.lua. Functions change it in place. Times are microseconds since the epoch. */
export interface Period {
  state: BreakerState;
  id: number;
  beganAt: number;
  endsAt: number;
  expiresAt: number;
  windowEmptiedAt: number;
  openings: number;
  calls: number;
  failures: number;
  slowCalls: number;
  endedTrials: number;
  failedTrials: number;
  slowTrials: number;
  leases: Lease[];
  /** Whether it has unsaved changes. */
  isDirty: boolean;
  /** Whether the current operation began it. */
  isNew: boolean;
}

/** A target without a record is closed. */
export function createInitialPeriod(now: number): Period {
  return {
    state: "closed",
    id: 0,
    beganAt: now,
    endsAt: 0,
    expiresAt: 0,
    windowEmptiedAt: 0,
    openings: 0,
    calls: 0,
    failures: 0,
    slowCalls: 0,
    endedTrials: 0,
    failedTrials: 0,
    slowTrials: 0,
    leases: [],
    isDirty: false,
    isNew: false,
  };
}

/** Applies the changes that are due by time. Returns the current period. */
export function advancePeriod(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
): Period {
  if (period.id === 0) return period;
  correctForClockStep(period, now);
  if (period.expiresAt <= now) return createInitialPeriod(now);
  if (period.state === "open" && period.endsAt <= now) beginHalfOpen(period, id, now);
  // The last call's policy may need more trial calls than this one.
  else if (period.state === "half-open") endHalfOpen(period, policy, id, now);
  else if (isManual(period.state) && period.expiresAt < now + 6 * DAY_MICROS) {
    period.expiresAt = now + 7 * DAY_MICROS;
    period.isDirty = true;
  }
  return period;
}

/** Keeps the rest of a period or lease within its full length when the clock has stepped back. */
function correctForClockStep(period: Period, now: number): void {
  if (period.beganAt > now) {
    const step = period.beganAt - now;
    period.beganAt = now;
    period.endsAt = Math.max(period.endsAt - step, 0);
    period.expiresAt -= step;
    period.windowEmptiedAt = Math.min(period.windowEmptiedAt, now);
    period.isDirty = true;
  }
  for (const lease of period.leases) {
    if (lease.beganAt <= now) continue;
    lease.endsAt -= lease.beganAt - now;
    lease.beganAt = now;
    period.isDirty = true;
  }
}

function isManual(state: BreakerState): state is ManualState {
  return state === "forced-open" || state === "disabled" || state === "metrics-only";
}

/** Whether outcomes of calls that were admitted in a period count now. */
export function acceptsOutcomes({ state, id }: Period, admittedIn: AdmittedPeriod): boolean {
  if (state !== "closed" && state !== "metrics-only") return false;
  return id === 0 || admittedIn === "any" || admittedIn === id;
}

/** Opens if the window holds enough calls and they exceed the policy's thresholds. */
export function openIfThresholdsExceeded(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
  window: CallCounts,
): void {
  const { calls, failures, slowCalls } = window;
  if (period.state !== "closed" || calls < policy.minimumCalls) return;
  if (exceedsThresholds(policy, calls, failures, slowCalls))
    beginOpen(period, policy, id, now, window);
}

/** Whether a call may be made; a trial call holds its lease until it is reported, or the lease ends. */
export type CallDecision =
  | { readonly kind: "rejected" }
  | { readonly kind: "allowed" }
  | { readonly kind: "trial"; readonly leaseId: number };

/* Constants, so that a decision that is no trial call allocates nothing. */
export const REJECTED: CallDecision = { kind: "rejected" };

export const ALLOWED: CallDecision = { kind: "allowed" };

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

/** Ends a half-open period once all its trial calls have ended. Returns whether it closed, and the window must be emptied. */
function endHalfOpen(period: Period, policy: BreakerPolicy, id: number, now: number): boolean {
  if (period.endedTrials < policy.trialCalls) return false;
  const counts = {
    calls: period.endedTrials,
    failures: period.failedTrials,
    slowCalls: period.slowTrials,
  };
  if (exceedsThresholds(policy, counts.calls, counts.failures, counts.slowCalls)) {
    beginOpen(period, policy, id, now, counts);
    return false;
  }
  beginClosed(period, id, now, counts, policy.rampUpMicros);
  period.windowEmptiedAt = now;
  return true;
}

/** Microseconds until the period changes by time alone: an open period or a ramp ends, or a slot for a trial call becomes free. */
export function microsUntilChange(period: Period, policy: BreakerPolicy, now: number): number {
  if (period.state !== "half-open") return Math.max(period.endsAt - now, 0);
  const held = period.leases.filter((lease) => lease.endsAt > now);
  if (period.endedTrials + held.length < policy.trialCalls) return 0;
  return Math.min(policy.leaseMicros, ...held.map((lease) => lease.endsAt - now));
}

/** Replaces the period with a new one; `counts` are the calls that caused it. */
function beginPeriod(
  period: Period,
  state: BreakerState,
  id: number,
  now: number,
  counts: CallCounts,
): void {
  const { calls, failures, slowCalls } = counts;
  const { expiresAt, windowEmptiedAt, openings } = period;
  Object.assign(period, createInitialPeriod(now), {
    state,
    id,
    expiresAt,
    windowEmptiedAt,
    openings,
  });
  Object.assign(period, { calls, failures, slowCalls, isDirty: true, isNew: true });
}

/** Opens for the given duration, or else for the one of the policy. */
export function beginOpen(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
  counts: CallCounts,
  durationMicros?: number,
): void {
  beginPeriod(period, "open", id, now, counts);
  period.openings = Math.min(period.openings + 1, MAX_OPENINGS);
  const { openForMicros } = policy;
  period.endsAt =
    now +
    (durationMicros ??
      (openForMicros[Math.min(period.openings, openForMicros.length) - 1] as number));
  period.expiresAt = period.endsAt + DAY_MICROS;
}

export function beginHalfOpen(period: Period, id: number, now: number): void {
  beginPeriod(period, "half-open", id, now, period);
  period.expiresAt = now + DAY_MICROS;
}

/** Closes. The record stays for a day, the longest possible window and ramp, so that calls admitted earlier do not count. */
export function beginClosed(
  period: Period,
  id: number,
  now: number,
  counts: CallCounts,
  ramp: number,
): void {
  beginPeriod(period, "closed", id, now, counts);
  period.openings = 0;
  period.endsAt = now + ramp;
  period.expiresAt = now + DAY_MICROS;
}

/** Begins a manual state, which stays as long as it is read at least once a week. */
export function beginManualState(
  period: Period,
  state: ManualState,
  id: number,
  now: number,
  counts: CallCounts,
): void {
  beginPeriod(period, state, id, now, counts);
  period.expiresAt = now + 7 * DAY_MICROS;
}
