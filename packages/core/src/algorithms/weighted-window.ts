import type { Algorithm, CompiledLimit } from "./algorithm.ts";
import { byteSizeBelow, mulDiv, mulDivRemainder, NEVER } from "./exact-arithmetic.ts";

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

  copyState: ({ age, current, previous }) => ({ age, current, previous }),

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
    const remaining = quota.limit - usedUnits(state, quota);
    const more = Math.max(0, remaining) + 1;
    // Nothing becomes available while usage exceeds the limit, nor for a limit of 0, until it is unused.
    const refillAfter = more > quota.limit ? resetAfter : weighted.waitTime(state, quota, more);
    return { remaining, resetAfter, refillAfter };
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

/** At most `limit` units in a sliding window, approximately. `id` names the shape. */
export function weightedWindow(
  id: string,
  limit: number,
  window: number,
): Pick<
  CompiledLimit<WeightedWindowState, WeightedWindowQuota>,
  "algorithm" | "quota" | "parameters" | "shape"
> {
  return {
    algorithm: weighted,
    quota: { limit, window },
    parameters: [limit],
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
