import type { CheckedWindow, SlidingWindowLimit, WithoutPer, WithPer } from "../common/policy.ts";
import { formatDuration, toMilliseconds } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm, CompiledLimit } from "./algorithm.ts";
import { byteSizeBelow, NEVER } from "./exact-arithmetic.ts";
import { readCount, readRate, readWindow, requireKnownOptions } from "./read-limit.ts";
import { weightedWindow } from "./weighted-window.ts";

/** The most sub-windows. */
const MAX_BUCKETS = 60;

/**
 * A limit of `limit` units (0 to 10^9, at most 10^6 per second) in a `window` (1 ms to 366 days) that slides over counters
 * aligned to the Unix epoch.
 *
 * `buckets: 1` (default) weighs the previous window by the share of it that the window still covers: approximate, at worst
 * twice `limit`. `buckets` of 2 to 60 count the oldest sub-window in full: never over `limit` in any window, and under it by
 * at most one sub-window's units. A limiter that uses an invalid limit throws `HEADGATE_INVALID_LIMIT`.
 */
export function slidingWindow<const Text extends string = string>(
  options: WithoutPer<SlidingWindowLimit<never>> & CheckedWindow<Text>,
): SlidingWindowLimit<never>;
export function slidingWindow<const Per extends string, const Text extends string = string>(
  options: WithPer<SlidingWindowLimit<Per>> & CheckedWindow<Text>,
): SlidingWindowLimit<Per>;
export function slidingWindow<const Text extends string = string>(
  options: Omit<SlidingWindowLimit, "algorithm"> & CheckedWindow<Text>,
): SlidingWindowLimit;
export function slidingWindow(options: Omit<SlidingWindowLimit, "algorithm">): SlidingWindowLimit {
  return { algorithm: "slidingWindow", ...options };
}

export function compileSlidingWindow(limit: SlidingWindowLimit): CompiledAlgorithm {
  requireKnownOptions(limit, ["limit", "window", "buckets"]);
  const length = readWindow(limit, "window");
  const count = readRate(limit, "limit", length, "window");
  const buckets = limit.buckets === undefined ? 1 : readCount(limit, "buckets", MAX_BUCKETS);
  const id = `slidingWindow(${length},${buckets})`;
  return {
    ...(buckets === 1 ? weightedWindow(id, count, length) : subWindows(id, count, length, buckets)),
    name: `${count}-per-${formatDuration(length)}`,
    limit: count,
    windowMs: toMilliseconds(length),
    canonical: `slidingWindow(${count},${length},${buckets})`,
  };
}

/*
 * Sliding window over counters of sub-windows; the oldest is partly covered, but counts in full. Twin of sub-windows.lua.
 *
 * State  age: microseconds since the current sub-window began. counts: units spent in each, the current one first.
 * Quota  limit. size: microseconds of a sub-window. count: the stored sub-windows, one more than make up the window.
 */
interface SubWindowsState {
  age: number;
  readonly counts: number[];
}

interface SubWindowsQuota {
  readonly limit: number;
  readonly size: number;
  readonly count: number;
}

const windows: Algorithm<SubWindowsState, SubWindowsQuota> = {
  createState: ({ count }) => ({ age: 0, counts: new Array(count).fill(0) }),

  readState: ([age, ...counts]) => ({ age: age as number, counts }),

  copyState: ({ age, counts }) => ({ age, counts: counts.slice() }),

  advance(state, quota, elapsed, now) {
    const { counts } = state;
    const age = state.age + elapsed;
    const shift = Math.floor(age / quota.size);
    if (shift > 0) {
      for (let i = quota.count - 1; i >= 0; i -= 1) counts[i] = counts[i - shift] ?? 0;
    }
    // While nothing is counted, the sub-windows can be aligned.
    state.age = (sum(counts) === 0 ? now : age) % quota.size;
  },

  waitTime(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    const room = quota.limit - cost;
    const { age, counts } = state;
    let used = sum(counts);
    let wait = 0;
    // The oldest sub-window expires first, then the others one by one.
    for (let oldest = quota.count - 1; used > room; oldest -= 1) {
      used -= counts[oldest] as number;
      wait = (quota.count - oldest) * quota.size - age;
    }
    return wait;
  },

  spend({ counts }, _, cost) {
    counts[0] = (counts[0] as number) + cost;
  },

  // Refunds only into the sub-window that was charged, while it still counts.
  refund({ age: current, counts }, { size }, cost, age) {
    const index = age > current ? Math.ceil((age - current) / size) : 0;
    const count = counts[index] ?? 0;
    if (count === 0) return false;
    counts[index] = Math.max(0, count - cost);
    return true;
  },

  report(state, quota) {
    const { age, counts } = state;
    const newest = counts.findIndex((count) => count > 0);
    const resetAfter = newest < 0 ? 0 : (quota.count - newest) * quota.size - age;
    const remaining = quota.limit - sum(counts);
    const more = Math.max(0, remaining) + 1;
    // Nothing becomes available while usage exceeds the limit, nor for a limit of 0, until it is unused.
    const refillAfter = more > quota.limit ? resetAfter : windows.waitTime(state, quota, more);
    return { remaining, resetAfter, refillAfter };
  },
};

function sum(counts: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < counts.length; i += 1) total += counts[i] as number;
  return total;
}

/** At most `limit` units in a window that slides over sub-windows. `id` names the shape. */
function subWindows(
  id: string,
  limit: number,
  window: number,
  buckets: number,
): Pick<
  CompiledLimit<SubWindowsState, SubWindowsQuota>,
  "algorithm" | "quota" | "parameters" | "shape" | "weight"
> {
  // Rounded up, so that the sub-windows together cover at least the window.
  const size = Math.ceil(window / buckets);
  const count = buckets + 1;
  return {
    algorithm: windows,
    quota: { limit, size, count },
    parameters: [limit],
    // Reading eight sub-windows costs about as much as one counter elsewhere.
    weight: 1 + Math.floor(buckets / 8),
    shape: {
      id,
      luaFile: "sub-windows",
      state: [["age", byteSizeBelow(size)]],
      tail: { count: count, bytes: 4 },
      parameters: ["limit"],
      locals: ["counts", "used"],
      constants: {
        PERIOD: String(size),
        LAST: String(count),
        COUNTS: `">${"I4".repeat(count)}"`,
        ZEROS: new Array(count).fill(0).join(", "),
      },
    },
  };
}
