import type { Decision, Limit } from "@headgate/core";
import { definitionOf, microsecondsOf } from "../oracle/definition.ts";
import type { Random } from "../random/random.ts";

/** How a sender who wants as much as possible goes on after an answer. */
export interface NextRequest {
  /** Microseconds. */
  readonly wait: bigint;
  readonly cost: number;
}

/**
 * Aims at the edges: takes all that is left, at once, and comes back where a window ends, where the clock's windows
 * meet, or where something grows, give or take a microsecond.
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

/** The sub-window of a window in buckets, the window of others, the time to fill up of a bucket: where edges are. */
function windowOf(limit: Limit): bigint {
  if (limit.algorithm !== "slidingWindow") return definitionOf(limit).window;
  const buckets = BigInt(limit.buckets ?? 1);
  return (microsecondsOf(limit.window) + buckets - 1n) / buckets;
}
