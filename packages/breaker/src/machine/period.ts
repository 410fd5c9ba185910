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
  since: number;
  ends: number;
}

/** The state of a target. Twin of the record that period.lua describes; changed in place. */
export interface Period {
  state: BreakerState;
  id: number;
  since: number;
  ends: number;
  expires: number;
  emptied: number;
  opened: number;
  calls: number;
  failures: number;
  slowCalls: number;
  done: number;
  doneFailures: number;
  doneSlow: number;
  leases: Lease[];
  /** Whether it must be kept. */
  dirty: boolean;
  /** Whether it began now. */
  changed: boolean;
}

/** A target without a record is closed. */
export function createInitialPeriod(now: number): Period {
  return {
    state: "closed",
    id: 0,
    since: now,
    ends: 0,
    expires: 0,
    emptied: 0,
    opened: 0,
    calls: 0,
    failures: 0,
    slowCalls: 0,
    done: 0,
    doneFailures: 0,
    doneSlow: 0,
    leases: [],
    dirty: false,
    changed: false,
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
  const { expires, emptied, opened } = period;
  Object.assign(period, createInitialPeriod(now), { state, id, expires, emptied, opened });
  Object.assign(period, { calls, failures, slowCalls });
  period.dirty = true;
  period.changed = true;
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
  period.opened = Math.min(period.opened + 1, MAX_OPENINGS);
  const { openForMicros } = policy;
  period.ends =
    now +
    (durationMicros ??
      (openForMicros[Math.min(period.opened, openForMicros.length) - 1] as number));
  period.expires = period.ends + DAY_MICROS;
}

export function beginHalfOpen(period: Period, id: number, now: number): void {
  beginPeriod(period, "half-open", id, now, period);
  period.expires = now + DAY_MICROS;
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
  period.opened = 0;
  period.ends = now + ramp;
  period.expires = now + DAY_MICROS;
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
  period.expires = now + 7 * DAY_MICROS;
}

/** The clock stepped back. The rest of a period or lease is never longer than its full length. */
function correctForClockStep(period: Period, now: number): void {
  if (period.since > now) {
    const step = period.since - now;
    period.since = now;
    period.ends = Math.max(period.ends - step, 0);
    period.expires -= step;
    period.emptied = Math.min(period.emptied, now);
    period.dirty = true;
  }
  for (const lease of period.leases) {
    if (lease.since <= now) continue;
    lease.ends -= lease.since - now;
    lease.since = now;
    period.dirty = true;
  }
}

/** Ends a half-open period when it has all its trial calls. Returns whether it closed, and the window is to be emptied. */
export function endHalfOpen(
  period: Period,
  policy: BreakerPolicy,
  id: number,
  now: number,
): boolean {
  if (period.done < policy.trialCalls) return false;
  const counts = { calls: period.done, failures: period.doneFailures, slowCalls: period.doneSlow };
  if (exceedsThresholds(policy, counts.calls, counts.failures, counts.slowCalls)) {
    beginOpen(period, policy, id, now, counts);
    return false;
  }
  beginClosed(period, id, now, counts, policy.rampUpMicros);
  period.emptied = now;
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
  if (period.expires <= now) return createInitialPeriod(now);
  if (period.state === "open" && period.ends <= now) beginHalfOpen(period, id, now);
  // Another policy may have wanted more trial calls.
  else if (period.state === "half-open") endHalfOpen(period, policy, id, now);
  else if (isManual(period.state) && period.expires < now + 6 * DAY_MICROS) {
    period.expires = now + 7 * DAY_MICROS;
    period.dirty = true;
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
  if (period.state !== "half-open") return Math.max(period.ends - now, 0);
  const held = period.leases.filter((lease) => lease.ends > now);
  if (period.done + held.length < policy.trialCalls) return 0;
  return Math.min(policy.leaseMicros, ...held.map((lease) => lease.ends - now));
}
