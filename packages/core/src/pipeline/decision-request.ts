import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import { NEVER } from "../algorithms/exact-arithmetic.ts";
import type { Decision, DecisionSource, LimitState } from "../common/decision.ts";
import type {
  CounterDecision,
  DecideCall,
  DecideMode,
  LimitDecision,
  StoreDecision,
} from "../operations/decide-call.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { includedCounters } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { DecisionInit, SlotHandle } from "../policy/limiter-decision.ts";
import { GrantedDecision, LimiterDecision, withCostByName } from "../policy/limiter-decision.ts";

const MICROS_PER_MS = 1_000;

const NONE: readonly never[] = [];

/** A request for a decision: one record, created once, that all stages and the store share. No stage changes it. */
export interface DecisionRequest extends DecideCall {
  /** The limiter's own policy, or one passed with the call. */
  readonly policy: CompiledPolicy;
  /** The counters to decide on. Counters that a cost by name excludes are in `allCounters` only. */
  readonly counters: readonly SubjectCounter[];
  /** With a cost by name, all counters, including excluded ones; otherwise undefined. */
  readonly allCounters: readonly SubjectCounter[] | undefined;
  /** How much of `storeTimeout` the request has used already, by reading the control record, in milliseconds. */
  readonly usedTimeoutMs: number;
}

/** Creates the request that travels through the stages. With `upTo`, its cost is 1. A cost of 0 is never charged and never sets a block. */
export function createDecisionRequest(
  policy: CompiledPolicy,
  counters: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  usedTimeoutMs = 0,
  upTo?: number,
): DecisionRequest {
  const hasCostByName = counters[0]?.costs !== undefined;
  return {
    policy,
    counters: hasCostByName ? includedCounters(counters) : counters,
    allCounters: hasCostByName ? counters : undefined,
    cost,
    upTo,
    mode: cost === 0 && mode !== "peek" ? "inspect" : mode,
    usedTimeoutMs,
    holder: undefined,
  };
}

/**
 * The decision that the caller gets from the store's decisions: one, or one for each hash slot, where a later one on the same limit
 * counts. If they allow the request, its slots count as held from now on.
 */
export function toDecision(
  request: DecisionRequest,
  decisions: readonly StoreDecision[],
  source: DecisionSource,
  slots?: SlotHandle,
): Decision {
  const { policy, counters, allCounters, mode, upTo } = request;
  /**
   * By position in the policy, with holes for limits whose counter is not in the request, or that a cost by name excludes. Not an
   * array of a given length, which V8 is slow to create.
   */
  const states: (LimitState | undefined)[] = [undefined];
  while (states.length < policy.limits.length) states.push(undefined);
  let allowed = true;
  let blocked = false;
  for (let d = 0; d < decisions.length; d += 1) {
    const { now, allowed: isAllowed, counters: decided } = decisions[d] as StoreDecision;
    if (!isAllowed) allowed = false;
    for (let u = 0; u < decided.length; u += 1) {
      const { counter, blockedFor, limits } = decided[u] as CounterDecision;
      const { group, costs } = counter as SubjectCounter;
      if (blockedFor > 0) blocked = true;
      for (let i = 0; i < limits.length; i += 1) {
        if (costs?.[i] === 0) continue;
        const limit = group.limits[i] as CompiledLimit;
        const position = group.positions[i] as number;
        states[position] = toLimitState(limit, now, limits[i] as LimitDecision);
      }
    }
  }
  if (allowed) slots?.markGranted();
  const hasAll = allCounters === undefined && counters.length === policy.groups.length;
  const decided = upTo === undefined ? request : { ...request, cost: costUpTo(decisions) };
  return createDecision(decided, {
    allowed,
    blocked,
    limits: hasAll ? (states as readonly LimitState[]) : removeHoles(states),
    source,
    receipts: NONE,
    charges: allowed && mode !== "peek" ? decisions : undefined,
    slots: allowed ? slots : undefined,
  });
}

/** The units charged by decisions with `upTo`, of which the least counts; 1 for a denial, which is one of the least cost. */
function costUpTo(decisions: readonly StoreDecision[]): number {
  return Math.max(1, Math.min(...decisions.map(({ granted = 0 }) => granted)));
}

/** The decision on a request with these contents. */
export function createDecision(
  { policy, cost, upTo, counters, allCounters }: DecisionRequest,
  contents: Omit<DecisionInit, "cost" | "overrideEffect" | "allCounters">,
): Decision {
  const { allowed, blocked = false, limits, source, slots, retryAfterMs = 0 } = contents;
  const { receipts, charges } = contents;
  const overrideEffect = (allCounters ?? counters)[0]?.overrideEffect;
  // Not by spreading, which takes a microsecond.
  const init = {
    allowed,
    blocked,
    limits,
    cost,
    source,
    receipts,
    charges,
    slots,
    retryAfterMs,
    overrideEffect,
  };
  if (upTo !== undefined) return new GrantedDecision(policy, init, upTo);
  return new LimiterDecision(
    policy,
    allCounters === undefined ? init : withCostByName(policy, allCounters, init),
  );
}

/** States without the holes, in the order of the policy. */
export function removeHoles(states: readonly (LimitState | undefined)[]): readonly LimitState[] {
  return states.filter((state) => state !== undefined);
}

/** The state of a limit for callers. `now` is the time of the decision, in microseconds. */
export function toLimitState(
  limit: CompiledLimit,
  now: number,
  { wait, remaining, resetAfter, refillAfter }: LimitDecision,
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
    resetAfterMs: Math.ceil(resetAfter / MICROS_PER_MS),
    refillAfterMs: Math.ceil(refillAfter / MICROS_PER_MS),
  };
}
