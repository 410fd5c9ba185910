/** biome-ignore-all lint/style/noRestrictedGlobals: Date counts days here, and reads no clock. */
import { LruMap } from "../common/lru-map.ts";
import type { CalendarWindow } from "../common/policy.ts";
import { toMilliseconds } from "../common/time.ts";

/** The boundaries of three consecutive windows, in microseconds since the epoch. */
export type Boundaries = readonly [
  earliest: number,
  opening: number,
  closing: number,
  latest: number,
];

/** The days, weeks, months or years of a time zone. */
export interface Calendar {
  /**
   * The boundaries of the window around a time, and of the windows before and after it. The same object while the window
   * lasts.
   */
  boundariesAround(now: number): Boundaries;
}

/** The first midnight of the window that is `after` windows later than a day's own. */
const FIRST_MIDNIGHTS: Readonly<Record<CalendarWindow, (day: Date, after: number) => number>> = {
  day: (day, after) => midnightOf(day, day.getUTCMonth(), day.getUTCDate() + after),
  week: (day, after) =>
    midnightOf(day, day.getUTCMonth(), day.getUTCDate() - ((day.getUTCDay() + 6) % 7) + 7 * after),
  month: (day, after) => midnightOf(day, day.getUTCMonth() + after, 1),
  year: (day, after) => midnightOf(day, 12 * after, 1),
};

/**
 * Windows, relative to the one that contains the moment's local date. The moment may already be in the next window if clocks
 * are put back across midnight; and a day that the zone skips does not count.
 */
const NEARBY_WINDOWS = [-3, -2, -1, 0, 1, 2, 3, 4];

/** The most cached calendars. Opening a time zone takes far longer than a decision. */
const MAX_CALENDARS = 500;

const calendars = new LruMap<string, Calendar>(MAX_CALENDARS);

/** Whether a value is the name of a calendar window. */
export function isCalendarWindow(window: unknown): window is CalendarWindow {
  return typeof window === "string" && Object.hasOwn(FIRST_MIDNIGHTS, window);
}

/** The calendar of a time zone. Throws a `RangeError` for an unknown name. */
export function getCalendar(window: CalendarWindow, timeZone: string): Calendar {
  const id = `${window} ${timeZone}`;
  const cached = calendars.get(id);
  if (cached !== undefined) return cached;
  const calendar = openCalendar(window, timeZone);
  calendars.set(id, calendar);
  return calendar;
}

function openCalendar(window: CalendarWindow, timeZone: string): Calendar {
  const zone = openTimeZone(timeZone);
  // Caches two, because callers with slightly different clocks alternate around a boundary, and a search is slow.
  let last: Boundaries = [0, 0, 0, 0];
  let other = last;

  function find(now: number): Boundaries {
    const moment = Math.floor(now / 1_000_000) * 1_000;
    const day = new Date(zone.localAt(moment));
    const starts = NEARBY_WINDOWS.map((after) => zone.firstAt(FIRST_MIDNIGHTS[window](day, after)));
    const distinct = [...new Set(starts)];
    const present = distinct.findLastIndex((start) => start <= moment);
    const found = distinct.slice(present - 1, present + 3);
    // The server's clock and the times that it stores start at the epoch.
    return found.map((start) => Math.max(0, start) * 1_000) as unknown as Boundaries;
  }

  return {
    boundariesAround(now) {
      if (!isWithin(last, now)) [last, other] = [isWithin(other, now) ? other : find(now), last];
      return last;
    },
  };
}

function isWithin([, opening, closing]: Boundaries, now: number): boolean {
  return now >= opening && now < closing;
}

function midnightOf(day: Date, month: number, date: number): number {
  return Date.UTC(day.getUTCFullYear(), month, date);
}

/** Milliseconds in which a limit recovers in full; for a calendar window, the length of the window around a moment. */
export function windowMsAt(
  limit: { readonly calendar?: Calendar | undefined; readonly windowMs: number },
  now: number,
): number {
  if (limit.calendar === undefined) return limit.windowMs;
  const [, opening, closing] = limit.calendar.boundariesAround(now);
  return toMilliseconds(closing - opening);
}

const SECOND = 1_000;
const DAY = 86_400_000;

/**
 * The wall clocks of a time zone, by the zone data of this Node. Moments are milliseconds since the epoch in whole seconds, as
 * all clock changes are. Local times are written as if the clocks showed UTC.
 */
interface TimeZone {
  localAt(moment: number): number;
  /** The first moment at which clocks show this local time, or have skipped it. */
  firstAt(local: number): number;
}

/** Throws a `RangeError` for the name of an unknown zone. */
export function openTimeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });

  function localAt(moment: number): number {
    const shown = format.format(moment).match(/\d+/g) ?? [];
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = shown.map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }

  function offsetAt(moment: number): number {
    return localAt(moment) - moment;
  }

  return {
    localAt,

    firstAt(local) {
      // Clocks differ from UTC by less than a day, so at most one change lies between these two.
      const before = offsetAt(local - DAY);
      const after = offsetAt(local + DAY);
      // If clocks are put back, this local time may occur twice: take the first one, before the change.
      if (offsetAt(local - before) === before) return local - before;
      if (offsetAt(local - after) === after) return local - after;
      return findSkip(local, local - after, local - before);
    },
  };

  /** The moment at which clocks skip ahead: after `from`, at `to` at the latest. */
  function findSkip(local: number, from: number, to: number): number {
    let [early, late] = [from, to];
    while (late - early > SECOND) {
      const middle = early + Math.floor((late - early) / 2 / SECOND) * SECOND;
      if (localAt(middle) < local) early = middle;
      else late = middle;
    }
    return late;
  }
}
