import type { LimitState } from "../base/decision.ts";
import { isOfPlaces } from "../base/decision.ts";
import { CountedDecision, withNamed } from "../counting/counted-decision.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { areByName } from "../store/counter.ts";
import type { Denial } from "./line.ts";

/**
 * A denial as it is `now`, in microseconds of the store's clock, if nobody was admitted since, for a call of its own cost: of these
 * counters, where it is by name.
 */
export function agedDenial(
  counted: CountedPolicy,
  { decision, at }: Denial,
  counters: readonly SubjectCounter[],
  cost: number,
  now: number,
): CountedDecision {
  const elapsedMs = Math.max(0, Math.floor((now - at) / 1_000));
  const { blocked, limits, overridden, retryAfterMs, source } = decision;
  const outcome = {
    allowed: false,
    blocked,
    limits: limits.map((limit) => agedState(limit, elapsedMs, blocked)),
    cost,
    source,
    receipts: [],
    retryAfterMs,
    terms: counters[0]?.terms ?? (overridden ? { shadow: false } : undefined),
  };
  return new CountedDecision(counted, areByName(counters) ? withNamed(counters, outcome) : outcome);
}

function agedState(limit: LimitState, elapsedMs: number, isBlocked: boolean): LimitState {
  // Nobody knows when a place comes free, now as then. A block has its end.
  if (isOfPlaces(limit) && !isBlocked) return limit;
  return {
    ...limit,
    retryAfterMs: left(limit.retryAfterMs, elapsedMs),
    resetAfterMs: left(limit.resetAfterMs, elapsedMs),
    growsAfterMs: left(limit.growsAfterMs, elapsedMs),
  };
}

/** A time that is over now is as long as it takes those in front to be asked for. */
function left(ms: number, elapsedMs: number): number {
  return ms > 0 ? Math.max(1, ms - elapsedMs) : ms;
}
