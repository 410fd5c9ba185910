import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import { NEVER } from "../algorithms/exact-arithmetic.ts";
import type { Decision, DecisionSource, LimitState } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import { THRESHOLD_REPORT_SIZE } from "../operations/notify-thresholds.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { unitCountersOf } from "../policy/counters.ts";
import { LimiterDecision, withCostByName } from "../policy/limiter-decision.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { DecisionRequest, StoreDecision } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

/*
 * How a store's reply becomes a `StoreDecision`, and a `StoreDecision` the `Decision` that the caller gets. The layout of the
 * reply is documented at `decide` in operations/decide.ts.
 */

/** How many numbers a reply has before its counters, before the limits of each counter, and for each limit. */
export const REPLY_HEADER = 1;
export const COUNTER_HEADER = 2;
export const NUMBERS_PER_LIMIT = 4;

const MICROS_PER_MS = 1_000;

const NOTHING: readonly never[] = [];

/** Decodes the store's reply to a request. Throws `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`. */
export function decodeStoreDecision(
  request: DecisionRequest,
  reply: readonly number[],
): StoreDecision {
  const { policy, counters, cost, mode, allCounters } = request;
  const { allowed, blocked, receipts, states } = decodeReply(policy, counters, cost, reply);
  const hasAllLimits = allCounters === undefined && counters.length === policy.groups.length;
  return {
    allowed,
    blocked,
    limits: hasAllLimits ? (states as readonly LimitState[]) : removeHoles(states),
    receipts: allowed && mode !== "peek" ? receipts : NOTHING,
    cacheableReplies: allowed ? NOTHING : [{ counters, reply }],
  };
}

/** The decision that the caller gets. If the request is allowed, its slots count as held from now on. */
export function toDecision(
  request: DecisionRequest,
  { allowed, blocked, limits, receipts }: Omit<StoreDecision, "cacheableReplies">,
  source: DecisionSource,
  retryAfterMs = 0,
): Decision {
  const slots = allowed ? request.slots : undefined;
  slots?.markGranted();
  const { policy, cost, allCounters } = request;
  const init = {
    allowed,
    blocked,
    limits,
    cost,
    source,
    receipts,
    slots,
    retryAfterMs,
    overrideEffect: (allCounters ?? request.counters)[0]?.overrideEffect,
  };
  return new LimiterDecision(
    policy,
    allCounters === undefined ? init : withCostByName(allCounters, init),
  );
}

/** The contents of a reply to a decision. */
export interface DecodedReply {
  readonly allowed: boolean;
  /** Whether a block denied the request. */
  readonly blocked: boolean;
  /** The receipt for the charged units; empty if only concurrency slots were requested. */
  readonly receipts: readonly Receipt[];
  /** By position in the policy, with holes for limits whose counter was not in the call or that a cost by name excludes. */
  readonly states: readonly (LimitState | undefined)[];
}

/** The states without the holes, in the order of the policy. */
export function removeHoles(states: DecodedReply["states"]): readonly LimitState[] {
  return states.filter((state) => state !== undefined);
}

/**
 * Decodes the reply to a decision, and publishes the thresholds that it reports. No other process receives that report, so they
 * are published even if the charge is refunded because another hash slot denies. Throws `HEADGATE_WRONG_TYPE`,
 * `HEADGATE_BAD_REPLY`.
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

/** How many numbers the threshold report on these counters has, if they were charged. */
function thresholdReportLength(counters: readonly SubjectCounter[]): number {
  return counters.reduce(
    (count, { notifyingLimits }) => count + THRESHOLD_REPORT_SIZE * notifyingLimits.length,
    0,
  );
}

/** The receipt without concurrency counters: slots are released, not refunded. Empty if no units were charged. */
function unitReceipts(receipt: Receipt, counters: readonly SubjectCounter[]): readonly Receipt[] {
  const ofUnits = unitCountersOf(counters);
  if (ofUnits.length === 0) return NOTHING;
  const generations = ofUnits.map((one) => receipt.generations[counters.indexOf(one)] as number);
  return [{ ...receipt, counters: ofUnits, generations }];
}

/**
 * The state of one limit from its four numbers in a reply: microseconds to wait, units that remain (negative if overdrawn),
 * microseconds until it recovers fully, and microseconds until more units remain. `now` is the time of the reply.
 */
export function decodeLimitState(
  limit: CompiledLimit,
  now: number,
  wait: number,
  remaining: number,
  reset: number,
  refillAfter: number,
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
    refillAfterMs: Math.ceil(refillAfter / MICROS_PER_MS),
  };
}
