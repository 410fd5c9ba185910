import type { CallCounts, CallOutcome, CountedOutcome } from "./breaker-policy.ts";
import type { AdmittedPeriod, BreakerState, CallDecision, Period } from "./period.ts";
import { ALLOWED, REJECTED } from "./period.ts";

/* Codecs for the numbers of scripts, which sync-target.lua, set-target-state.lua and period.lua document. */

/** The states, by their numbers. */
export const STATES: readonly BreakerState[] = [
  "closed",
  "open",
  "half-open",
  "forced-open",
  "disabled",
  "metrics-only",
];

/** The outcomes that count, by their numbers: 1 for a failure, plus 2 for a slow call. */
const OUTCOMES: readonly CountedOutcome[] = ["success", "failure", "slow-success", "slow-failure"];

const OUTCOME_CODES: Readonly<Record<CallOutcome, number>> = {
  success: 0,
  failure: 1,
  "slow-success": 2,
  "slow-failure": 3,
  ignore: -1,
};

export function encodeState(state: BreakerState): number {
  return STATES.indexOf(state);
}

export function encodeOutcome(outcome: CallOutcome): number {
  return OUTCOME_CODES[outcome];
}

export function decodeOutcome(code: number): CountedOutcome {
  return OUTCOMES[code] as CountedOutcome;
}

export function encodeAdmittedPeriod(period: AdmittedPeriod): number {
  return period === "any" ? -1 : period;
}

function encodeDecision(decision: CallDecision): number {
  if (decision.kind === "rejected") return 0;
  return decision.kind === "allowed" ? -1 : decision.leaseId;
}

/** How many integers report a target, after the clock. */
export const REPLY_SIZE = 12;

export function encodeReply(
  now: number,
  period: Period,
  remainingMicros: number,
  window: CallCounts,
  decision: CallDecision,
): number[] {
  return [
    now,
    encodeState(period.state),
    period.id,
    remainingMicros,
    period.openings,
    period.calls,
    period.failures,
    period.slowCalls,
    window.calls,
    window.failures,
    window.slowCalls,
    encodeDecision(decision),
    period.isNew ? 1 : 0,
  ];
}

/** A decoded reply: the state of a target, and the decision on the call that was requested. */
export interface TargetReply {
  readonly state: BreakerState;
  /** The id of the period; 0 for a target without a record. */
  readonly period: number;
  /** Microseconds until the state changes by time alone: an open period or a ramp ends, or a slot for a trial call becomes free. */
  readonly remainingMicros: number;
  readonly openings: number;
  /** The calls that caused the state. */
  readonly cause: CallCounts;
  /** The calls in the window. */
  readonly window: CallCounts;
  /** `REJECTED` if no call was requested. */
  readonly decision: CallDecision;
  /** Whether this request began the period. */
  readonly isNewPeriod: boolean;
}

/** Decodes a reply; undefined if it reports no target, as for a key of the wrong type. */
export function decodeReply(reply: readonly number[]): TargetReply | undefined {
  const numberAt = (at: number): number => reply[at] as number;
  const countsAt = (at: number): CallCounts => ({
    calls: numberAt(at),
    failures: numberAt(at + 1),
    slowCalls: numberAt(at + 2),
  });
  const state = STATES[numberAt(1)];
  if (reply.length !== REPLY_SIZE + 1 || state === undefined) return undefined;
  return {
    state,
    period: numberAt(2),
    remainingMicros: numberAt(3),
    openings: numberAt(4),
    cause: countsAt(5),
    window: countsAt(8),
    decision: decodeDecision(numberAt(11)),
    isNewPeriod: numberAt(12) === 1,
  };
}

function decodeDecision(code: number): CallDecision {
  if (code === -1) return ALLOWED;
  return code > 0 ? { kind: "trial", leaseId: code } : REJECTED;
}
