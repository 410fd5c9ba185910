import type { Decision, Limit } from "@headgate/core";
import { definitionOf, microsecondsOf } from "../oracle/definition.ts";
import type { Random } from "../random/random.ts";

/** The next request of a sender that takes as much as possible. */
export interface NextRequest {
  /** Microseconds. */
  readonly wait: bigint;
  readonly cost: number;
}

/**
 * Chooses a request near a boundary: the sender takes all units left, and returns when a window ends, when windows of the clock
 * meet, or when units refill, plus or minus a microsecond.
 */
export function nextGreedyRequest(
  random: Random,
  limit: Limit,
  now: bigint,
  last: Decision | undefined,
): NextRequest {
  if (last === undefined) return { wait: 0n, cost: 1 };
  const [state] = last.limits;
  const { remaining, refillAfterMs, resetAfterMs, limit: most } = state as typeof state & object;
  const cost = random.pick([1, remaining, remaining, remaining + 1, Math.ceil(most / 2), most]);
  if (remaining > 0 && random.chance(0.5)) return { wait: 0n, cost: Math.max(1, cost) };
  const window = windowOf(limit);
  const toBoundary = window - (now % window);
  const wait =
    random.pick([
      0n,
      BigInt(refillAfterMs) * 1_000n - BigInt(random.whole(0, 999)),
      BigInt(resetAfterMs) * 1_000n - BigInt(random.whole(0, 999)),
      toBoundary,
      toBoundary,
      window,
      window / BigInt(random.whole(2, 10)),
    ]) + BigInt(random.pick([-1, 0, 0, 0, 1]));
  return { wait: wait < 0n ? 0n : wait, cost: Math.max(1, cost) };
}

/** The interval between boundaries: a sub-window, a window, or the time to fill a bucket. */
function windowOf(limit: Limit): bigint {
  if (limit.algorithm !== "slidingWindow") return definitionOf(limit).window;
  const buckets = BigInt(limit.buckets ?? 1);
  return (microsecondsOf(limit.window) + buckets - 1n) / buckets;
}
