import type { SlidingWindowLimit, WithoutPer, WithPer } from "../policy.ts";
import { formatDuration, toMilliseconds } from "../time.ts";
import type { Algorithm, CompiledLimit } from "./algorithm.ts";
import { mulDiv, mulDivPart, NEVER } from "./exact.ts";
import { readCount, readRate, readWindow, requireShape } from "./read-limit.ts";

/*
 * Sliding window over counters of sub-windows. Twin of sliding-window.lua.
 *
 * State  age: microseconds since the current sub-window began. counts[0] is the current sub-window,
 *        counts[1] the one before, to counts[buckets].
 * Quota  limit. size: microseconds of a sub-window. buckets: how many make up the window.
 *        One bucket: the previous window counts by the share of it that the sliding window still covers.
 *        Several: the oldest, partly covered, counts whole.
 */
interface Windows {
  age: number;
  counts: number[];
}

interface WindowsQuota {
  readonly limit: number;
  readonly size: number;
  readonly buckets: number;
}

const MAX_BUCKETS = 60;

const window: Algorithm<Windows, WindowsQuota> = {
  name: "window",

  fresh: (quota) => ({ age: 0, counts: new Array(quota.buckets + 1).fill(0) }),

  copy: ({ age, counts }) => ({ age, counts: counts.slice() }),

  advance(state, quota, elapsed, now) {
    const { counts } = state;
    const total = state.age + elapsed;
    const shift = Math.min(Math.floor(total / quota.size), quota.buckets + 1);
    if (shift > 0) {
      for (let i = quota.buckets; i >= 0; i -= 1) {
        counts[i] = i >= shift ? at(counts, i - shift) : 0;
      }
    }
    state.age = isUnused(counts) ? now % quota.size : total % quota.size;
  },

  wait(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    const room = quota.limit - cost;
    if (used(state, quota) <= room) return 0;
    const { counts } = state;
    let left = quota.size - state.age;
    if (quota.buckets > 1) {
      // The oldest sub-window leaves first, the others one after another.
      let oldest = quota.buckets;
      let total = sum(counts) - at(counts, oldest);
      while (total > room) {
        oldest -= 1;
        total -= at(counts, oldest);
        left += quota.size;
      }
      return left;
    }
    if (at(counts, 0) <= room) {
      return fade(at(counts, 1), room - at(counts, 0), quota.size) - state.age;
    }
    return left + fade(at(counts, 0), room, quota.size);
  },

  spend(state, _, cost) {
    state.counts[0] = at(state.counts, 0) + cost;
  },

  // Only into the sub-window that was charged, while it counts.
  refund(state, quota, cost, age) {
    const index = age > state.age ? Math.ceil((age - state.age) / quota.size) : 0;
    const count = state.counts[index];
    if (count === undefined || count === 0) return false;
    state.counts[index] = Math.max(0, count - cost);
    return true;
  },

  report(state, quota) {
    const remaining = quota.limit - used(state, quota);
    for (let i = 0; i <= quota.buckets; i += 1) {
      if (at(state.counts, i) > 0) {
        const reset = (quota.buckets + 1 - i) * quota.size - state.age;
        const growth = remaining < quota.limit ? window.wait(state, quota, remaining + 1) : 0;
        return { remaining, reset, growth };
      }
    }
    return { remaining, reset: 0, growth: 0 };
  },
};

/** Units that count against the limit, rounded up to whole ones. */
function used(state: Windows, quota: WindowsQuota): number {
  const { counts } = state;
  if (quota.buckets > 1) return sum(counts);
  const units = mulDiv(quota.size - state.age, at(counts, 1), quota.size);
  return at(counts, 0) + units + (mulDivPart > 0 ? 1 : 0);
}

/** Microseconds until `count` units, counting less and less through a whole sub-window, count at most `room`. */
function fade(count: number, room: number, size: number): number {
  return room >= count ? 0 : size - mulDiv(room, size, count);
}

function isUnused(counts: readonly number[]): boolean {
  for (let i = 0; i < counts.length; i += 1) {
    if (at(counts, i) > 0) return false;
  }
  return true;
}

function sum(counts: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < counts.length; i += 1) total += at(counts, i);
  return total;
}

function at(counts: readonly number[], index: number): number {
  return counts[index] as number;
}

/**
 * At most `limit` units (1 to 10^9, at most 10^6 per second) in a `window` (1 ms to 366 days) that slides over counters
 * aligned to the Unix epoch.
 *
 * `buckets: 1` (default) weighs the previous window by the share still covered: approximate, at worst twice `limit`.
 * `buckets` 2 to 60 count the oldest sub-window whole: never over `limit` in any window, and under it by at most one
 * sub-window's worth. Throws `HEADGATE_INVALID_LIMIT` when it is used.
 */
export function slidingWindow(
  options: WithoutPer<SlidingWindowLimit<never>>,
): SlidingWindowLimit<never>;
export function slidingWindow<const Per extends string>(
  options: WithPer<SlidingWindowLimit<Per>>,
): SlidingWindowLimit<Per>;
export function slidingWindow(options: Omit<SlidingWindowLimit, "algorithm">): SlidingWindowLimit;
export function slidingWindow(options: Omit<SlidingWindowLimit, "algorithm">): SlidingWindowLimit {
  return { algorithm: "slidingWindow", ...options };
}

export function compileSlidingWindow(
  limit: SlidingWindowLimit,
): CompiledLimit<Windows, WindowsQuota> {
  requireShape(limit, ["limit", "window", "buckets"]);
  const length = readWindow(limit, "window");
  const count = readRate(limit, "limit", length, "window");
  const buckets = limit.buckets === undefined ? 1 : readCount(limit, "buckets", MAX_BUCKETS);
  // Rounded up, so that the sub-windows together never cover less than the window.
  const size = Math.ceil(length / buckets);
  return {
    algorithm: window,
    quota: { limit: count, size, buckets },
    parameters: [count, size, buckets],
    name: limit.name ?? `${count}-per-${formatDuration(length)}`,
    per: limit.per ?? "default",
    limit: count,
    windowMs: toMilliseconds(length),
    hasLog: false,
    // Of eight sub-windows as much as of one counter elsewhere.
    counters: 1 + Math.floor(buckets / 8),
    source: limit,
    canonical: `slidingWindow(${count},${length},${buckets})`,
  };
}
