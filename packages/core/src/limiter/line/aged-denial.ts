import type { LimitState } from "../../decision.ts";
import { CountedDecision } from "../counted-decision.ts";
import type { CountedPolicy } from "../counted-policy.ts";
import type { Denial } from "./line.ts";

/** A denial as it is `now`, in microseconds of the store's clock, if nobody was admitted since, for a call of its own cost. */
export function agedDenial(
  counted: CountedPolicy,
  { decision, at }: Denial,
  cost: number,
  now: number,
): CountedDecision {
  const elapsedMs = Math.max(0, Math.floor((now - at) / 1_000));
  return new CountedDecision(counted, {
    allowed: false,
    limits: decision.limits.map((limit) => agedState(limit, elapsedMs)),
    cost,
    source: decision.source,
    receipts: [],
  });
}

function agedState(limit: LimitState, elapsedMs: number): LimitState {
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
