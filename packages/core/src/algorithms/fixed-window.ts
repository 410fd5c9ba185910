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
import type { Calendar } from "./calendar.ts";
import { getCalendar, isCalendarWindow } from "./calendar.ts";
import { byteSizeBelow, NEVER } from "./exact-arithmetic.ts";
import { readCount, readRate, readWindow, rejectLimit, requireKnownOptions } from "./read-limit.ts";

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

const fixedWindows = countInWindows<FixedWindowState, FixedWindowQuota>({
  createState: () => ({ used: 0, age: 0 }),

  readState: ([used, age]) => ({ used, age }) as FixedWindowState,

  loadState(state, from, at) {
    state.used = from[at] as number;
    state.age = from[at + 1] as number;
  },

  storeState(state, to, at) {
    to[at] = state.used;
    to[at + 1] = state.age;
  },

  advance(state, quota, elapsed, now) {
    state.age += elapsed;
    if (state.used === 0 || state.age >= quota.window) {
      state.used = 0;
      state.age = quota.aligned === 1 ? now % quota.window : 0;
    }
  },

  windowAge: ({ age }) => age,

  windowLeft: ({ age }, { window }) => window - age,
});

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
    algorithm: fixedWindows,
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

/*
 * Calendar window: a counter that starts from zero with each day, week, month or year of a time zone. Twin of
 * calendar-window.lua.
 *
 * State  used: units spent in the window. starts, ends: the window, in microseconds since the epoch. now: the time of
 *        this state.
 * Quota  limit. calendar: where windows begin that are not stored yet.
 */
interface CalendarWindowState {
  used: number;
  starts: number;
  ends: number;
  now: number;
}

interface CalendarWindowQuota {
  readonly limit: number;
  readonly calendar: Calendar;
}

const calendarWindows = countInWindows<CalendarWindowState, CalendarWindowQuota>({
  createState: () => ({ used: 0, starts: 0, ends: 0, now: 0 }),

  readState: ([used, starts, ends], _, now) => ({ used, starts, ends, now }) as CalendarWindowState,

  loadState(state, from, at) {
    state.used = from[at] as number;
    state.starts = from[at + 1] as number;
    state.ends = from[at + 2] as number;
  },

  storeState(state, to, at) {
    to[at] = state.used;
    to[at + 1] = state.starts;
    to[at + 2] = state.ends;
  },

  advance(state, { calendar }, _, now) {
    state.now = now;
    const isOver = now >= state.ends;
    if (!isOver && now >= state.starts) return;
    const [, opens, closes] = calendar.boundariesAround(now);
    state.starts = isOver ? Math.max(state.ends, opens) : opens;
    state.ends = closes;
    if (isOver) state.used = 0;
  },

  windowAge: ({ starts, now }) => now - starts,

  windowLeft: ({ ends, now }) => ends - now,
});

const DAY = 86_400_000_000;

/** The longest possible windows, in microseconds, with any clock changes in them: some zones have put clocks back by a day. */
const LONGEST_WINDOWS: Readonly<Record<CalendarWindow, number>> = {
  day: 2 * DAY,
  week: 8 * DAY,
  month: 32 * DAY,
  year: 367 * DAY,
};

const TIME_ZONE = /^[A-Za-z][\w+/-]{0,63}$/;

/** Tests pass a `calendar`; by default it is the calendar of the limit's time zone. */
export function compileCalendarWindow(
  limit: FixedWindowLimit,
  window: CalendarWindow,
  calendar?: Calendar,
): CompiledAlgorithm<CalendarWindowState, CalendarWindowQuota> {
  const count = readCount(limit, "limit", undefined, 0);
  if (limit.align !== undefined) {
    rejectLimit(
      limit,
      `align is for windows of a fixed length, and a window of a ${window} is aligned to the calendar; got ${formatReceived(limit.align)}`,
    );
  }
  const { timeZone = "UTC" } = limit;
  const own = calendar ?? readCalendar(limit, window, timeZone);
  const longest = LONGEST_WINDOWS[window];
  return {
    algorithm: calendarWindows,
    quota: { limit: count, calendar: own },
    calendar: own,
    parameters: [count],
    shape: {
      id: `fixedWindow(${window},${timeZone})`,
      luaFile: "calendar-window",
      state: [
        ["used", 4],
        ["starts", 7],
        ["ends", 7],
      ],
      parameters: ["limit"],
      timestamps: ["starts", "ends"],
      boundaries: ["earliest", "opening", "closing", "latest"],
      locals: ["opens", "closes"],
      constants: { LONGEST_WINDOW: String(longest) },
    },
    name: `${count}-per-${window}`,
    limit: count,
    windowMs: toMilliseconds(longest),
    canonical: `fixedWindow(${count},${window},${timeZone})`,
  };
}

function readCalendar(limit: FixedWindowLimit, window: CalendarWindow, timeZone: string): Calendar {
  try {
    if (typeof timeZone === "string" && TIME_ZONE.test(timeZone))
      return getCalendar(window, timeZone);
  } catch {
    // There is no zone with this name.
  }
  return rejectLimit(
    limit,
    `timeZone must be the IANA name of a time zone, such as "Europe/Berlin", got ${formatReceived(timeZone)}`,
  );
}

/** The arithmetic of a counter that starts from zero in each window, whatever begins and ends its windows. */
function countInWindows<State extends { used: number }, Quota extends { readonly limit: number }>(
  own: Pick<Algorithm<State, Quota>, "createState" | "readState" | "advance"> &
    Required<
      Pick<Algorithm<State, Quota>, "loadState" | "storeState" | "windowAge" | "windowLeft">
    >,
): Algorithm<State, Quota> {
  const { windowAge, windowLeft } = own;
  return {
    ...own,

    copyState: (state) => ({ ...state }),

    waitTime(state, quota, cost) {
      if (cost > quota.limit) return NEVER;
      return state.used + cost <= quota.limit ? 0 : windowLeft(state, quota);
    },

    spend(state, _, cost) {
      state.used += cost;
    },

    // Refunds only into the window that was charged.
    refund(state, _, cost, age) {
      if (age > windowAge(state) || state.used === 0) return false;
      state.used = Math.max(0, state.used - cost);
      return true;
    },

    report(state, quota) {
      const resetAfter = state.used > 0 ? windowLeft(state, quota) : 0;
      return { remaining: quota.limit - state.used, resetAfter, refillAfter: resetAfter };
    },
  };
}
