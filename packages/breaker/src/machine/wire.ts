import type { CallDecision } from "./call-decision.ts";
import { ALLOWED, REJECTED } from "./call-decision.ts";
import type { CallOutcome, CountedOutcome } from "./call-outcome.ts";
import type { AdmittedPeriod, BreakerState, Period } from "./period.ts";
import type { CallCounts } from "./window.ts";

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

/** The positions of a reply's integers; 0 is the clock. */
const STATE = 1;
const PERIOD = 2;
const REMAINING = 3;
const OPENINGS = 4;
const CAUSE = 5;
const WINDOW = 8;
const DECISION = 11;
const IS_NEW = 12;

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

/** Whether these integers report a target: a reply for a key of the wrong type does not. */
export function isTargetReply(reply: readonly number[]): boolean {
  return reply.length === REPLY_SIZE + 1 && STATES[reply[STATE] as number] !== undefined;
}

export function decodeState(reply: readonly number[]): BreakerState {
  return STATES[reply[STATE] as number] as BreakerState;
}

/** The id of the period; 0 for a target without a record. */
export function decodePeriodId(reply: readonly number[]): number {
  return reply[PERIOD] as number;
}

/** Microseconds until the state changes by time alone. */
export function decodeRemainingMicros(reply: readonly number[]): number {
  return reply[REMAINING] as number;
}

export function decodeOpenings(reply: readonly number[]): number {
  return reply[OPENINGS] as number;
}

/** The calls that caused the state. */
export function decodeCause(reply: readonly number[]): CallCounts {
  return decodeCounts(reply, CAUSE);
}

/** The calls in the window. */
export function decodeWindow(reply: readonly number[]): CallCounts {
  return decodeCounts(reply, WINDOW);
}

/** The decision on the requested call; `REJECTED` if none was requested, or for integers that are no reply. */
export function decodeDecision(reply: readonly number[]): CallDecision {
  const code = reply[DECISION] as number;
  if (code === -1) return ALLOWED;
  return code > 0 ? { kind: "trial", leaseId: code } : REJECTED;
}

/** Whether this request began the period. */
export function decodeIsNewPeriod(reply: readonly number[]): boolean {
  return reply[IS_NEW] === 1;
}

function decodeCounts(reply: readonly number[], at: number): CallCounts {
  return {
    calls: reply[at] as number,
    failures: reply[at + 1] as number,
    slowCalls: reply[at + 2] as number,
  };
}
