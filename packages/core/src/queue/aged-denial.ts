import type { LimitState } from "../common/decision.ts";
import { isOfSlots } from "../common/decision.ts";
import { areByName } from "../operations/counter.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { LimiterDecision, withNamed } from "../policy/limiter-decision.ts";
import type { Denial } from "./line.ts";

/**
 * A denial as of `now`, in microseconds of the store's clock, if no request was admitted since, for a call with a cost of its
 * own: of these counters if the cost is by name.
 */
export function agedDenial(
  counted: CompiledPolicy,
  { decision, at }: Denial,
  counters: readonly SubjectCounter[],
  cost: number,
  now: number,
): LimiterDecision {
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
  return new LimiterDecision(counted, areByName(counters) ? withNamed(counters, outcome) : outcome);
}

function agedState(limit: LimitState, elapsedMs: number, isBlocked: boolean): LimitState {
  // There is no way to know when a slot comes free, now as before. But a block has an end.
  if (isOfSlots(limit) && !isBlocked) return limit;
  return {
    ...limit,
    retryAfterMs: left(limit.retryAfterMs, elapsedMs),
    resetAfterMs: left(limit.resetAfterMs, elapsedMs),
    refillAfterMs: left(limit.refillAfterMs, elapsedMs),
  };
}

/** At least 1 ms: even if the time is over, the calls in front have to be asked for first. */
function left(ms: number, elapsedMs: number): number {
  return ms > 0 ? Math.max(1, ms - elapsedMs) : ms;
}
