import type { CompiledLimit, LimitReport } from "../algorithms/algorithm.ts";
import { NEVER } from "../algorithms/exact-arithmetic.ts";
import type { Block } from "./block.ts";
import { remainingMicrosOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { costAt } from "./counter.ts";
import type { CounterState } from "./counter-state.ts";
import type { ThresholdReport } from "./notify-thresholds.ts";

export type DecideMode = "enforce" | "charge" | "peek" | "inspect";

/** One request to decide. */
export interface DecideCall {
  /** Units. 0 charges nothing and reports the limits unchanged. If the counters have costs, the largest of those. */
  readonly cost: number;
  /**
   * The most units to charge: as many as every limit has left, of at least one. Then `cost` is 1, the least that is granted.
   * Undefined if the request is charged its cost or nothing.
   */
  readonly upTo?: number | undefined;
  /**
   * What happens to an allowed request. `"enforce"` and `"charge"` charge it, and with `"enforce"` a denial may block.
   * `"peek"` reports the limits as after a charge, and `"inspect"` reports them unchanged; neither charges.
   */
  readonly mode: DecideMode;
  /** The holder of the slots, if the request is charged to concurrency limits. */
  readonly holder?: string | undefined;
  readonly counters: readonly Counter[];
}

/** The decision of a store on a request. Times are in microseconds. */
export interface StoreDecision {
  /** The store's clock, since the epoch. */
  readonly now: number;
  readonly allowed: boolean;
  /** In the order of the call. */
  readonly counters: readonly CounterDecision[];
  /** One for each limit that notifies, if the request was charged; otherwise empty. */
  readonly thresholds: readonly ThresholdReport[];
  /** For a call with `upTo`: the units that are charged, or would be in a mode that does not charge. 0 if it is denied. */
  readonly granted?: number;
}

/** The part of a decision that is about one counter. */
export interface CounterDecision {
  readonly counter: Counter;
  readonly generation: number;
  /** The rest of its block; 0 if it has none. */
  readonly blockedFor: number;
  readonly limits: readonly LimitDecision[];
}

/** The part of a decision that is about one limit. */
export interface LimitDecision extends LimitReport {
  /** Until the limit allows the cost: 0 if it does now, `NEVER` if the cost never fits. */
  readonly wait: number;
}

/** The units that a call for up to `upTo` gets, by the decision on one unit, whose limits are reported uncharged. */
export function grantedUnits({ allowed, counters }: StoreDecision, upTo: number): number {
  if (!allowed) return 0;
  let granted = upTo;
  for (const { counter, limits } of counters) {
    limits.forEach(({ remaining }, i) => {
      // A request takes one slot, whatever its units.
      if (counter.limits[i]?.shape.slotTtl === undefined) granted = Math.min(granted, remaining);
    });
  }
  return granted;
}

/** Whether an allowed request is charged. */
export function isCharging(mode: DecideMode): boolean {
  return mode === "enforce" || mode === "charge";
}

/** Whether a counter allows a cost: it is not blocked, and none of its limits has to wait. */
export function isAllowing(counter: Counter, state: CounterState, cost: number): boolean {
  if (isBlocked(state)) return false;
  for (let i = 0; i < counter.limits.length; i += 1) {
    if (waitOf(counter, state, i, cost) !== 0) return false;
  }
  return true;
}

export function isBlocked({ block, stamp }: CounterState): boolean {
  return remainingMicrosOf(block, stamp) > 0;
}

/** The wait of a limit. A cost of 0 is never denied, even if usage exceeds the limit. */
export function waitOf(
  counter: Counter,
  { limitStates }: CounterState,
  i: number,
  cost: number,
): number {
  const { algorithm, quota } = counter.limits[i] as CompiledLimit;
  const units = costAt(counter, i, cost);
  return units === 0 ? 0 : algorithm.waitTime(limitStates[i], quota, units);
}

/** Spends a cost: on the states if it is charged, otherwise on copies of them. Returns the states to report. */
export function spend(
  counter: Counter,
  states: readonly unknown[],
  cost: number,
  charges: boolean,
  holder = "",
): readonly unknown[] {
  const spent = charges ? states : new Array<unknown>(states.length);
  for (let i = 0; i < states.length; i += 1) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const units = costAt(counter, i, cost);
    if (!charges) (spent as unknown[])[i] = algorithm.copyState(states[i]);
    if (units === 0) continue;
    if (charges && algorithm.acquireSlots) algorithm.acquireSlots(spent[i], quota, holder, units);
    else algorithm.spend(spent[i], quota, units);
  }
  return spent;
}

/**
 * The decision on a counter, whose limits are reported from the states in `reported`. If the request is allowed, they have no wait,
 * and their states may have been charged already.
 */
export function decideCounter(
  counter: Counter,
  state: CounterState,
  cost: number,
  allowed: boolean,
  reported: readonly unknown[] = state.limitStates,
): CounterDecision {
  const { generation, block, stamp } = state;
  const limits = [decideLimit(counter, state, 0, cost, allowed, reported)];
  for (let i = 1; i < counter.limits.length; i += 1) {
    limits.push(decideLimit(counter, state, i, cost, allowed, reported));
  }
  const blockedFor = remainingMicrosOf(block, stamp);
  const decision = { counter, generation, blockedFor, limits };
  return blockedFor === 0 ? decision : denyByBlock(decision, block as Block, cost);
}

function decideLimit(
  counter: Counter,
  state: CounterState,
  i: number,
  cost: number,
  allowed: boolean,
  reported: readonly unknown[],
): LimitDecision {
  const { algorithm, quota } = counter.limits[i] as CompiledLimit;
  const { remaining, resetAfter, refillAfter } = algorithm.report(reported[i], quota);
  const wait = allowed ? 0 : waitOf(counter, state, i, cost);
  return { wait, remaining, resetAfter, refillAfter };
}

/**
 * The decision on a counter that is blocked. A limit's block shows on that limit, even if the cost leaves it out; a manual block
 * shows on all limits of the counter. A cost of 0 reports the limits unchanged.
 */
function denyByBlock(decision: CounterDecision, { setBy }: Block, cost: number): CounterDecision {
  const { counter, blockedFor } = decision;
  const isOfAll = setBy === "operator" || counter.costs?.[setBy - 1] === 0;
  const limits = decision.limits.map((limit, i) => {
    if (!isOfAll && setBy - 1 !== i) return limit;
    const wait = limit.wait === NEVER ? NEVER : Math.max(limit.wait, blockedFor);
    if (isOfAll && cost === 0) return { ...limit, wait };
    return {
      wait,
      remaining: Math.min(0, limit.remaining),
      resetAfter: Math.max(blockedFor, limit.resetAfter),
      refillAfter: Math.max(blockedFor, limit.refillAfter),
    };
  });
  return { ...decision, limits };
}
