import type { CheckedWindow, SlidingWindowLimit, WithoutPer, WithPer } from "../common/policy.ts";
import { formatDuration, toMilliseconds } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm, LimitReport } from "./algorithm.ts";
import { byteSizeBelow, mulDiv, mulDivRemainder, NEVER } from "./exact-arithmetic.ts";
import { readCount, readRate, readWindow, requireKnownOptions } from "./read-limit.ts";

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
  const window = readWindow(limit, "window");
  const count = readRate(limit, "limit", window, "window");
  const buckets = limit.buckets === undefined ? 1 : readCount(limit, "buckets", MAX_BUCKETS);
  const id = `slidingWindow(${window},${buckets})`;
  return {
    ...(buckets === 1 ? weightedWindow(id, count, window) : subWindows(id, count, window, buckets)),
    parameters: [count],
    name: `${count}-per-${formatDuration(window)}`,
    limit: count,
    windowMs: toMilliseconds(window),
    canonical: `slidingWindow(${count},${window},${buckets})`,
  };
}

type WindowParts = Pick<CompiledAlgorithm, "algorithm" | "quota" | "shape" | "weight">;

/** The report of a window with some used units, which is unused after `resetAfter`. */
function reportWindow<State, Quota extends { readonly limit: number }>(
  { waitTime }: Algorithm<State, Quota>,
  state: State,
  quota: Quota,
  used: number,
  resetAfter: number,
): LimitReport {
  const remaining = quota.limit - used;
  const more = Math.max(0, remaining) + 1;
  // Nothing becomes available while usage exceeds the limit, nor for a limit of 0, until it is unused.
  const refillAfter = more > quota.limit ? resetAfter : waitTime(state, quota, more);
  return { remaining, resetAfter, refillAfter };
}

/*
 * Sliding window over two counters: the previous window counts by the share of it that the sliding window still covers. Twin of
 * weighted-window.lua.
 *
 * State  age: microseconds since the current window began. current, previous: units spent in each.
 * Quota  limit. window: microseconds.
 */
interface WeightedWindowState {
  age: number;
  current: number;
  previous: number;
}

interface WeightedWindowQuota {
  readonly limit: number;
  readonly window: number;
}

const weighted: Algorithm<WeightedWindowState, WeightedWindowQuota> = {
  createState: () => ({ age: 0, current: 0, previous: 0 }),

  readState: ([age, current, previous]) => ({ age, current, previous }) as WeightedWindowState,

  loadState(state, from, at) {
    state.age = from[at] as number;
    state.current = from[at + 1] as number;
    state.previous = from[at + 2] as number;
  },

  storeState(state, to, at) {
    to[at] = state.age;
    to[at + 1] = state.current;
    to[at + 2] = state.previous;
  },

  copyState: (state) => ({ ...state }),

  advance(state, quota, elapsed, now) {
    const age = state.age + elapsed;
    if (age >= quota.window) {
      state.previous = age < 2 * quota.window ? state.current : 0;
      state.current = 0;
    }
    const isUnused = state.current === 0 && state.previous === 0;
    state.age = (isUnused ? now : age) % quota.window;
  },

  waitTime(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    const room = quota.limit - cost;
    if (usedUnits(state, quota) <= room) return 0;
    const { age, current, previous } = state;
    if (current <= room) return fadeTime(previous, room - current, quota.window) - age;
    return quota.window - age + fadeTime(current, room, quota.window);
  },

  spend(state, _, cost) {
    state.current += cost;
  },

  // Refunds only into the window that was charged, while it still counts.
  refund(state, quota, cost, age) {
    const window = age <= state.age ? "current" : "previous";
    if (age > state.age + quota.window || state[window] === 0) return false;
    state[window] = Math.max(0, state[window] - cost);
    return true;
  },

  report(state, quota) {
    const { age, current, previous } = state;
    const windows = current > 0 ? 2 : previous > 0 ? 1 : 0;
    const resetAfter = windows === 0 ? 0 : windows * quota.window - age;
    return reportWindow(weighted, state, quota, usedUnits(state, quota), resetAfter);
  },
};

/** Units that count against the limit, rounded up to whole ones. */
function usedUnits(
  { age, current, previous }: WeightedWindowState,
  { window }: WeightedWindowQuota,
): number {
  return current + mulDiv(window - age, previous, window) + (mulDivRemainder > 0 ? 1 : 0);
}

/** Microseconds until `count` units, which fade over a whole window, count for at most `room`. */
function fadeTime(count: number, room: number, window: number): number {
  return room >= count ? 0 : window - mulDiv(room, window, count);
}

function weightedWindow(id: string, limit: number, window: number): WindowParts {
  return {
    algorithm: weighted,
    quota: { limit, window },
    shape: {
      id,
      luaFile: "weighted-window",
      state: [
        ["age", byteSizeBelow(window)],
        ["current", 4],
        ["previous", 4],
      ],
      parameters: ["limit"],
      locals: ["used"],
      constants: { PERIOD: String(window) },
    },
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

  loadState(state, from, at) {
    const { counts } = state;
    state.age = from[at] as number;
    for (let i = 0; i < counts.length; i += 1) counts[i] = from[at + 1 + i] as number;
  },

  storeState({ age, counts }, to, at) {
    to[at] = age;
    to.set(counts, at + 1);
  },

  copyState: (state) => ({ ...state, counts: state.counts.slice() }),

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
    return reportWindow(windows, state, quota, sum(counts), resetAfter);
  },
};

function sum(counts: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < counts.length; i += 1) total += counts[i] as number;
  return total;
}

function subWindows(id: string, limit: number, window: number, buckets: number): WindowParts {
  // Rounded up, so that the sub-windows together cover at least the window.
  const size = Math.ceil(window / buckets);
  const count = buckets + 1;
  return {
    algorithm: windows,
    quota: { limit, size, count },
    // Reading eight sub-windows costs about as much as one counter elsewhere.
    weight: 1 + Math.floor(buckets / 8),
    shape: {
      id,
      luaFile: "sub-windows",
      state: [["age", byteSizeBelow(size)]],
      tail: { count, bytes: 4 },
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
