import { formatReceived } from "../common/errors.ts";
import type {
  CalendarWindow,
  CheckedBlock,
  FixedWindowLimit,
  WithoutPer,
  WithPer,
} from "../common/policy.ts";
import type { CheckedDuration } from "../common/time.ts";
import { formatDuration, toMilliseconds } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm } from "./algorithm.ts";
import { isCalendarWindow } from "./calendar.ts";
import { compileCalendarWindow } from "./calendar-window.ts";
import { byteSizeBelow, NEVER } from "./exact-arithmetic.ts";
import { readRate, readWindow, rejectLimit, requireKnownOptions } from "./read-limit.ts";

/*
 * Fixed window: a counter that starts from zero in every window. Twin of fixed-window.lua.
 *
 * State  used: units spent in the window. age: microseconds since the window began.
 * Quota  limit. window: microseconds. aligned: 1 if windows begin at multiples since the Unix epoch, 0 if a window begins with
 *        the first request after the previous one ended.
 */
interface FixedWindowState {
  used: number;
  age: number;
}

interface FixedWindowQuota {
  readonly limit: number;
  readonly window: number;
  readonly aligned: number;
}

const fixedWindowAlgorithm: Algorithm<FixedWindowState, FixedWindowQuota> = {
  createState: () => ({ used: 0, age: 0 }),

  readState: ([used, age]) => ({ used, age }) as FixedWindowState,

  copyState: ({ used, age }) => ({ used, age }),

  advance(state, quota, elapsed, now) {
    state.age += elapsed;
    if (state.used === 0 || state.age >= quota.window) {
      state.used = 0;
      state.age = quota.aligned === 1 ? now % quota.window : 0;
    }
  },

  waitTime(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    return state.used + cost <= quota.limit ? 0 : quota.window - state.age;
  },

  spend(state, _, cost) {
    state.used += cost;
  },

  // Refunds only into the window that was charged.
  refund(state, _, cost, age) {
    if (age > state.age || state.used === 0) return false;
    state.used = Math.max(0, state.used - cost);
    return true;
  },

  report(state, quota) {
    const resetAfter = state.used > 0 ? quota.window - state.age : 0;
    return { remaining: quota.limit - state.used, resetAfter, refillAfter: resetAfter };
  },

  windowAge: ({ age }) => age,

  windowLeft: ({ age }, { window }) => window - age,
};

/**
 * A limit of `limit` units (0 to 10^9, at most 10^6 per second) per `window` (1 ms to 366 days), counted from zero in each
 * window. `align: "first"` (default) begins a window with a subject's first request, `"clock"` at multiples of `window` since
 * the Unix epoch.
 *
 * `window: "day"`, `"week"`, `"month"` or `"year"` is that day, week (from Monday), month or year in `timeZone` (an IANA name,
 * default `"UTC"`).
 *
 * Admits up to twice `limit` around the boundary of two windows. A limiter that uses an invalid limit throws
 * `HEADGATE_INVALID_LIMIT`.
 */
export function fixedWindow<const Text extends string = string>(
  options: WithoutPer<FixedWindowLimit<never>> &
    CheckedBlock<Text> & { readonly window: CheckedDuration<Text> | CalendarWindow },
): FixedWindowLimit<never>;
export function fixedWindow<const Per extends string, const Text extends string = string>(
  options: WithPer<FixedWindowLimit<Per>> &
    CheckedBlock<Text> & { readonly window: CheckedDuration<Text> | CalendarWindow },
): FixedWindowLimit<Per>;
export function fixedWindow<const Text extends string = string>(
  options: Omit<FixedWindowLimit, "algorithm"> &
    CheckedBlock<Text> & { readonly window: CheckedDuration<Text> | CalendarWindow },
): FixedWindowLimit;
export function fixedWindow(options: Omit<FixedWindowLimit, "algorithm">): FixedWindowLimit {
  return { algorithm: "fixedWindow", ...options };
}

export function compileFixedWindow(limit: FixedWindowLimit): CompiledAlgorithm {
  requireKnownOptions(limit, ["limit", "window", "align", "timeZone"]);
  if (isCalendarWindow(limit.window)) return compileCalendarWindow(limit, limit.window);
  rejectCalendarOptions(limit);
  const window = readWindow(limit, "window");
  const count = readRate(limit, "limit", window, "window");
  const align = limit.align === undefined ? "first" : limit.align;
  if (align !== "first" && align !== "clock") {
    rejectLimit(limit, `align must be "first" or "clock", got ${formatReceived(align)}`);
  }
  const aligned = align === "clock" ? 1 : 0;
  return {
    algorithm: fixedWindowAlgorithm,
    quota: { limit: count, window, aligned },
    parameters: [count],
    shape: {
      id: `fixedWindow(${window},${align})`,
      luaFile: "fixed-window",
      state: [
        ["used", 4],
        ["age", byteSizeBelow(window)],
      ],
      parameters: ["limit"],
      constants: { PERIOD: String(window), ALIGNED: String(aligned) },
    },
    name: `${count}-per-${formatDuration(window)}`,
    limit: count,
    windowMs: toMilliseconds(window),
    canonical: `fixedWindow(${count},${window},${align})`,
  };
}

/** Throws for an option that only a calendar window accepts, and for text that is neither a calendar window nor a duration. */
function rejectCalendarOptions(limit: FixedWindowLimit): void {
  const { window, timeZone } = limit;
  if (typeof window === "string" && !/^\d/.test(window)) {
    rejectLimit(
      limit,
      `window must be "day", "week", "month", "year", or a duration like "1m", "1h", "7d"; got ${formatReceived(window)}`,
    );
  }
  if (timeZone === undefined) return;
  rejectLimit(
    limit,
    `timeZone is for a window of "day", "week", "month" or "year", and ${formatReceived(window)} lasts as long in all zones; got ${formatReceived(timeZone)}`,
  );
}
