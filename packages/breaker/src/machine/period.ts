import type { BreakerPolicy } from "./breaker-policy.ts";
import { exceedsThresholds } from "./breaker-policy.ts";
import type { CallCounts } from "./window.ts";

/** The state of a target. */
export type BreakerState = "closed" | "open" | "half-open" | ManualState;

/** The states that only operators set. */
export type ManualState = "forced-open" | "disabled" | "metrics-only";

/** The id of the period in which a call was admitted; `"any"` for a call that was made without asking. */
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

/** The state of a target. Twin of the record that period.lua describes; changed in place. */
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
  /** Whether it must be kept. */
  isDirty: boolean;
  /** Whether it began now. */
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

/** Begins a period in place of another; `counts` are the numbers that caused it. */
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
  Object.assign(period, { calls, failures, slowCalls });
  period.isDirty = true;
  period.isNew = true;
}

/** Opens for as long as the policy says, or for a time that is given. */
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

/** Calls that were let through before must not count afterwards: the record stays for a day, the longest possible window and ramp. */
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

/** A state set by hand stays as long as somebody asks for it once a week. */
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

/** The clock stepped back. The rest of a period or lease is never longer than its full length. */
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

/** Ends a half-open period when it has all its trial calls. Returns whether it closed, and the window is to be emptied. */
export function endHalfOpen(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
): boolean {
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

/** Brings a period to the present; returns it, or the one that came after it. */
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
  // Another policy may have wanted more trial calls.
  else if (period.state === "half-open") endHalfOpen(period, policy, id, now);
  else if (isManual(period.state) && period.expiresAt < now + 6 * DAY_MICROS) {
    period.expiresAt = now + 7 * DAY_MICROS;
    period.isDirty = true;
  }
  return period;
}

function isManual(state: BreakerState): state is ManualState {
  return state === "forced-open" || state === "disabled" || state === "metrics-only";
}

/** Whether outcomes of calls that were admitted in a period count now. */
export function acceptsOutcomes({ state, id }: Period, admittedIn: AdmittedPeriod): boolean {
  if (state !== "closed" && state !== "metrics-only") return false;
  return id === 0 || admittedIn === "any" || admittedIn === id;
}

/** Opens when the window holds enough calls, and they are bad. */
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

/** Microseconds until the period changes by time alone: an open one ends, a ramp does, a place for a trial call is free. */
export function microsUntilChange(period: Period, policy: BreakerPolicy, now: number): number {
  if (period.state !== "half-open") return Math.max(period.endsAt - now, 0);
  const held = period.leases.filter((lease) => lease.endsAt > now);
  if (period.endedTrials + held.length < policy.trialCalls) return 0;
  return Math.min(policy.leaseMicros, ...held.map((lease) => lease.endsAt - now));
}
