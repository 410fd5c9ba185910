import type { Algorithm, CompiledLimit } from "./algorithm.ts";
import { bytesBelow, mulDiv, mulDivPart, NEVER } from "./exact.ts";

/*
 * Sliding window over two counters: the previous window counts by the share of it that the sliding window still covers. Twin of
 * weighted-window.lua.
 *
 * State  age: microseconds since the current window began. current, previous: units spent in each.
 * Quota  limit. window: microseconds.
 */
interface Windows {
  age: number;
  current: number;
  previous: number;
}

interface WindowsQuota {
  readonly limit: number;
  readonly window: number;
}

const weighted: Algorithm<Windows, WindowsQuota> = {
  fresh: () => ({ age: 0, current: 0, previous: 0 }),

  read: ([age, current, previous]) => ({ age, current, previous }) as Windows,

  copy: ({ age, current, previous }) => ({ age, current, previous }),

  advance(state, quota, elapsed, now) {
    const age = state.age + elapsed;
    if (age >= quota.window) {
      state.previous = age < 2 * quota.window ? state.current : 0;
      state.current = 0;
    }
    const isUnused = state.current === 0 && state.previous === 0;
    state.age = (isUnused ? now : age) % quota.window;
  },

  wait(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    const room = quota.limit - cost;
    if (used(state, quota) <= room) return 0;
    const { age, current, previous } = state;
    if (current <= room) return fade(previous, room - current, quota.window) - age;
    return quota.window - age + fade(current, room, quota.window);
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
    const reset = windows === 0 ? 0 : windows * quota.window - age;
    const remaining = quota.limit - used(state, quota);
    const more = Math.max(0, remaining) + 1;
    // Nothing becomes available while usage exceeds the limit, nor for a limit of 0, until it is unused.
    const growth = more > quota.limit ? reset : weighted.wait(state, quota, more);
    return { remaining, reset, growth };
  },
};

/** Units that count against the limit, rounded up to whole ones. */
function used({ age, current, previous }: Windows, { window }: WindowsQuota): number {
  return current + mulDiv(window - age, previous, window) + (mulDivPart > 0 ? 1 : 0);
}

/** Microseconds until `count` units, which fade over a whole window, count for at most `room`. */
function fade(count: number, room: number, window: number): number {
  return room >= count ? 0 : window - mulDiv(room, window, count);
}

/** At most `limit` units in a sliding window, approximately. `id` names the shape. */
export function weightedWindow(
  id: string,
  limit: number,
  window: number,
): Pick<CompiledLimit<Windows, WindowsQuota>, "algorithm" | "quota" | "numbers" | "shape"> {
  return {
    algorithm: weighted,
    quota: { limit, window },
    numbers: [limit],
    shape: {
      id,
      part: "weighted-window",
      state: [
        ["age", bytesBelow(window)],
        ["current", 4],
        ["previous", 4],
      ],
      numbers: ["limit"],
      locals: ["used"],
      constants: { PERIOD: String(window) },
    },
  };
}
