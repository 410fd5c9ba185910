import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import { NEVER } from "../algorithms/exact-arithmetic.ts";
import type { Decision, DecisionSource, LimitState } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { DecideMode } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import { THRESHOLD_REPORT_SIZE } from "../operations/notify-thresholds.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { includedCounters } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { unitCountersOf } from "../policy/counters.ts";
import { LimiterDecision, withCostByName } from "../policy/limiter-decision.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { prepareSlots } from "../slots/slot-keeper.ts";
import type { DecisionRequest, StoreDecision } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

/** Numbers in the reply to a decision: before the counters, before a counter's limits, and for each limit. */
export const REPLY_HEADER = 1;
export const COUNTER_HEADER = 2;
export const NUMBERS_PER_LIMIT = 4;

/** Microseconds in a millisecond; waits are rounded up to whole ones. */
const MICROS_PER_MS = 1_000;

const NOTHING: readonly never[] = [];

/** Makes the record of a request. A cost of 0 is never charged and never sets a block. */
export function createDecisionRequest(
  policy: CompiledPolicy,
  counters: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  waitedMs = 0,
): DecisionRequest {
  const isNamed = counters[0]?.costs !== undefined;
  return {
    policy,
    counters: isNamed ? includedCounters(counters) : counters,
    allCounters: isNamed ? counters : undefined,
    cost,
    mode: cost === 0 && mode !== "peek" ? "ask" : mode,
    waitedMs,
    slots: undefined,
    holder: undefined,
    sentAt: 0,
    onDecision: undefined,
  };
}

/** Lets a request take concurrency slots, if it is to be charged and any of its counters has slots. */
export function attachSlots(request: DecisionRequest, keeping: SlotKeeper): void {
  if (!isCharging(request.mode)) return;
  request.slots = prepareSlots(keeping, request.counters);
  request.holder = request.slots?.holder;
}

/** Reads a store's reply as an answer. Throws `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`. */
export function decodeStoreDecision(
  request: DecisionRequest,
  reply: readonly number[],
): StoreDecision {
  const { policy, counters, cost, mode, allCounters } = request;
  const { allowed, blocked, receipts, states } = decodeReply(policy, counters, cost, reply);
  const isWhole = allCounters === undefined && counters.length === policy.groups.length;
  return {
    allowed,
    blocked,
    limits: isWhole ? (states as readonly LimitState[]) : removeHoles(states),
    receipts: allowed && mode !== "peek" ? receipts : NOTHING,
    cacheableReplies: allowed ? NOTHING : [{ counters, reply }],
  };
}

/** The decision for an answer; if it admits the request, the slots it took are held from now on. */
export function toDecision(
  request: DecisionRequest,
  { allowed, blocked, limits, receipts }: Omit<StoreDecision, "cacheableReplies">,
  source: DecisionSource,
  retryAfterMs = 0,
): Decision {
  const slots = allowed ? request.slots : undefined;
  slots?.markGranted();
  const { policy, cost, allCounters } = request;
  const terms = (allCounters ?? request.counters)[0]?.overrideEffect;
  const outcome = {
    allowed,
    blocked,
    limits,
    cost,
    source,
    receipts,
    slots: slots,
    retryAfterMs,
    overrideEffect: terms,
  };
  return new LimiterDecision(
    policy,
    allCounters === undefined ? outcome : withCostByName(allCounters, outcome),
  );
}

/** The reply to a decision, read. */
export interface DecodedReply {
  readonly allowed: boolean;
  /** Whether a block denied the request. */
  readonly blocked: boolean;
  /** The receipts for units that were charged; empty if only concurrency slots were requested. */
  readonly receipts: readonly Receipt[];
  /** By position in the policy; holes for limits that were not asked or were left out. */
  readonly states: readonly (LimitState | undefined)[];
}

/** The limits that were asked, in the order of the policy. */
export function removeHoles(states: DecodedReply["states"]): readonly LimitState[] {
  return states.filter((state) => state !== undefined);
}

/**
 * Reads the reply to a decision, and publishes the thresholds that it reports: no other process gets this report, also if the charge is
 * refunded because another hash slot denies. Throws `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`.
 */
export function decodeReply(
  policy: CompiledPolicy,
  counters: readonly SubjectCounter[],
  cost: number,
  reply: readonly number[],
): DecodedReply {
  if (reply[1] === -1) rejectWrongType(reply, counters);
  const states: (LimitState | undefined)[] = new Array(policy.limits.length);
  const generations: number[] = new Array(counters.length);
  let at = REPLY_HEADER;
  let allowed = true;
  let blocked = false;
  for (let u = 0; u < counters.length; u += 1) {
    const { group, costs } = counters[u] as SubjectCounter;
    generations[u] = reply[at] as number;
    blocked ||= (reply[at + 1] as number) > 0;
    at += COUNTER_HEADER;
    for (let i = 0; i < group.limits.length; i += 1) {
      const from = at;
      at += NUMBERS_PER_LIMIT;
      if (costs?.[i] === 0) continue;
      const limit = group.limits[i] as CompiledLimit;
      const state = decodeLimitState(
        limit,
        reply[0] as number,
        reply[from] as number,
        reply[from + 1] as number,
        reply[from + 2] as number,
        reply[from + 3] as number,
      );
      states[group.positions[i] as number] = state;
      allowed &&= state.allowed;
    }
  }
  if (reply.length !== at && reply.length !== at + thresholdReportLength(counters)) {
    throw new HeadgateError(
      "HEADGATE_BAD_REPLY",
      `decide returned ${reply.length} numbers, not ${at}`,
    );
  }
  if (reply.length > at) publishThresholds(policy, counters, reply, at);
  const receipt = { cost, chargedAt: reply[0] as number, counters, generations };
  const receipts = policy.hasSlots ? unitReceipts(receipt, counters) : [receipt];
  return { allowed, blocked, receipts, states };
}

/** The length of the report of a charge of these counters. */
function thresholdReportLength(counters: readonly SubjectCounter[]): number {
  return counters.reduce(
    (count, { notifyingLimits }) => count + THRESHOLD_REPORT_SIZE * notifyingLimits.length,
    0,
  );
}

/** The receipt of units only: concurrency slots are released, not refunded. */
function unitReceipts(receipt: Receipt, counters: readonly SubjectCounter[]): readonly Receipt[] {
  const ofUnits = unitCountersOf(counters);
  if (ofUnits.length === 0) return NOTHING;
  const generations = ofUnits.map((one) => receipt.generations[counters.indexOf(one)] as number);
  return [{ ...receipt, counters: ofUnits, generations }];
}

/** One limit's four numbers, as they were at `now`: the wait, units that remain (below 0: overdrawn), until unused, until `remaining` grows; times in microseconds. */
export function decodeLimitState(
  limit: CompiledLimit,
  now: number,
  wait: number,
  remaining: number,
  reset: number,
  growth: number,
): LimitState {
  return {
    name: limit.name,
    per: limit.per,
    limit: limit.limit,
    windowMs: limit.calendar === undefined ? limit.windowMs : windowMsAt(limit, now),
    allowed: wait === 0,
    remaining: Math.max(0, remaining),
    overdrawn: Math.max(0, 0 - remaining),
    retryAfterMs: wait === NEVER ? Number.POSITIVE_INFINITY : Math.ceil(wait / MICROS_PER_MS),
    resetAfterMs: Math.ceil(reset / MICROS_PER_MS),
    refillAfterMs: Math.ceil(growth / MICROS_PER_MS),
  };
}
