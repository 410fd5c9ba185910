import { formatReceived } from "../common/errors.ts";
import type { CalendarWindow, FixedWindowLimit } from "../common/policy.ts";
import { toMilliseconds } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm } from "./algorithm.ts";
import type { Calendar } from "./calendar.ts";
import { getCalendar } from "./calendar.ts";
import { NEVER } from "./exact-arithmetic.ts";
import { readCount, rejectLimit } from "./read-limit.ts";

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

const calendarWindow: Algorithm<CalendarWindowState, CalendarWindowQuota> = {
  createState: () => ({ used: 0, starts: 0, ends: 0, now: 0 }),

  readState: ([used, starts, ends], _, now) => ({ used, starts, ends, now }) as CalendarWindowState,

  copyState: ({ used, starts, ends, now }) => ({ used, starts, ends, now }),

  advance(state, { calendar }, _, now) {
    state.now = now;
    const isOver = now >= state.ends;
    if (!isOver && now >= state.starts) return;
    const [, opens, closes] = calendar.boundariesAround(now);
    state.starts = isOver ? Math.max(state.ends, opens) : opens;
    state.ends = closes;
    if (isOver) state.used = 0;
  },

  waitTime(state, { limit }, cost) {
    if (cost > limit) return NEVER;
    return state.used + cost <= limit ? 0 : state.ends - state.now;
  },

  spend(state, _, cost) {
    state.used += cost;
  },

  // Refunds only into the window that was charged.
  refund(state, _, cost, age) {
    if (age > state.now - state.starts || state.used === 0) return false;
    state.used = Math.max(0, state.used - cost);
    return true;
  },

  report(state, { limit }) {
    const resetAfter = state.used > 0 ? state.ends - state.now : 0;
    return { remaining: limit - state.used, resetAfter, refillAfter: resetAfter };
  },

  windowAge: ({ starts, now }) => now - starts,

  windowLeft: ({ ends, now }) => ends - now,
};

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
    algorithm: calendarWindow,
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
