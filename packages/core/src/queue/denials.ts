import type { LimitState } from "../common/decision.ts";
import { isConcurrencyLimit } from "../common/decision.ts";
import { formatReceived, HeadgateError } from "../common/errors.ts";
import { costAt, hasCostsByName } from "../operations/counter.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { LimiterDecision, withCostByName } from "../policy/limiter-decision.ts";
import type { Denial } from "./queue.ts";

interface ImpossibleCost {
  readonly units: number;
  /** The limit that can never grant it. */
  readonly name: string;
  readonly limit: number;
}

/** The cost at the first limit that can never grant it; undefined if all can. */
export function findImpossibleCost(
  counters: readonly SubjectCounter[],
  cost: number,
): ImpossibleCost | undefined {
  for (const counter of counters) {
    for (const [i, { name, limit }] of counter.limits.entries()) {
      const units = costAt(counter, i, cost);
      if (units > limit) return { units, name, limit };
    }
  }
  return undefined;
}

/** Throws `HEADGATE_COST_ABOVE_LIMIT` for a cost that no wait would make possible. */
export function rejectImpossibleCost(counters: readonly SubjectCounter[], cost: number): void {
  const impossible = findImpossibleCost(counters, cost);
  if (impossible === undefined) return;
  const { units, name, limit } = impossible;
  throw new HeadgateError(
    "HEADGATE_COST_ABOVE_LIMIT",
    `a cost of ${units} can never pass the limit ${formatReceived(name)}, which grants ${limit} at most`,
  );
}

/**
 * A denial as of `now`, in microseconds of the store's clock, if no request was admitted since, for a call with a cost of its
 * own: of these counters if the cost is by name.
 */
export function ageDenial(
  policy: CompiledPolicy,
  { decision, receivedAt }: Denial,
  counters: readonly SubjectCounter[],
  cost: number,
  now: number,
): LimiterDecision {
  const elapsedMs = Math.max(0, Math.floor((now - receivedAt) / 1_000));
  const { blocked, limits, overridden, retryAfterMs, source } = decision;
  const outcome = {
    allowed: false,
    blocked,
    limits: limits.map((limit) => ageState(limit, elapsedMs, blocked)),
    cost,
    source,
    receipts: [],
    retryAfterMs,
    overrideEffect: counters[0]?.overrideEffect ?? (overridden ? { shadow: false } : undefined),
  };
  return new LimiterDecision(
    policy,
    hasCostsByName(counters) ? withCostByName(policy, counters, outcome) : outcome,
  );
}

function ageState(limit: LimitState, elapsedMs: number, isBlocked: boolean): LimitState {
  // When a slot will be released is as unknown as before. But a block has an end.
  if (isConcurrencyLimit(limit) && !isBlocked) return limit;
  return {
    ...limit,
    retryAfterMs: timeLeft(limit.retryAfterMs, elapsedMs),
    resetAfterMs: timeLeft(limit.resetAfterMs, elapsedMs),
    refillAfterMs: timeLeft(limit.refillAfterMs, elapsedMs),
  };
}

/** Subtracts elapsed time, but leaves at least 1 ms: even if the wait is over, the calls in front are decided first. */
function timeLeft(ms: number, elapsedMs: number): number {
  return ms > 0 ? Math.max(1, ms - elapsedMs) : ms;
}
