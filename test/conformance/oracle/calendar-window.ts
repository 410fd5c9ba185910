import type { CalendarWindow, FixedWindowLimit } from "@headgate/core";
import { Temporal } from "temporal-polyfill";
import type { Account, Definition } from "./account.ts";

/** A window, [start, end), in microseconds. */
interface DatedWindow {
  readonly start: bigint;
  readonly end: bigint;
}

interface CalendarWindows {
  readonly limit: bigint;
  readonly at: (now: bigint) => DatedWindow;
}

/** Returns the window at a time for a limit with calendar windows, or undefined for other limits. */
export function calendarWindowsOf(
  limit: FixedWindowLimit,
): ((now: bigint) => DatedWindow) | undefined {
  const { window, timeZone = "UTC" } = limit;
  if (!isCalendarWindow(window)) return undefined;
  let last: DatedWindow = { start: 0n, end: 0n };
  return (now) => {
    if (now < last.start || now >= last.end) last = findWindow(window, timeZone, now);
    return last;
  };
}

/** Defines `fixedWindow` of a day, week, month or year: the count starts from 0 in each window. */
export function defineCalendarWindow(limit: bigint, at: (now: bigint) => DatedWindow): Definition {
  const windows = { limit, at };
  return {
    capacity: limit,
    window: 86_400_000_000n,
    windowAt(now) {
      const { start, end } = at(now);
      return end - start;
    },
    open: () => new CalendarWindowAccount(windows),
    adopt: (account) => (account as CalendarWindowAccount).copyBy(windows),
  };
}

/** Describes the first calendar window that admitted more than `most` units, if there is one. */
export function findExcessByCalendar(
  at: (now: bigint) => DatedWindow,
  admissions: ReadonlyArray<{ readonly at: bigint; readonly cost: number }>,
  most: bigint,
): string | undefined {
  let end = 0n;
  let total = 0n;
  for (const admission of admissions) {
    if (admission.at >= end) {
      end = at(admission.at).end;
      total = 0n;
    }
    total += BigInt(admission.cost);
    if (total > most) return `${total} admitted in the window that ends at ${end}`;
  }
  return undefined;
}

export function isCalendarWindow(window: FixedWindowLimit["window"]): window is CalendarWindow {
  return ["day", "week", "month", "year"].includes(String(window));
}

function findWindow(window: CalendarWindow, timeZone: string, now: bigint): DatedWindow {
  const zoned = Temporal.Instant.fromEpochMilliseconds(Number(now / 1_000n)).toZonedDateTimeISO(
    timeZone,
  );
  const first = firstDay(window, zoned.toPlainDate());
  // When clocks are put back across midnight, some times of a day come after the start of the next day.
  const [start, end, next] = [0, 1, 2].map((after) =>
    startOf(first.add({ [`${window}s`]: after }), timeZone),
  ) as [bigint, bigint, bigint];
  return now < end ? { start, end } : { start: end, end: next };
}

function firstDay(window: CalendarWindow, day: Temporal.PlainDate): Temporal.PlainDate {
  switch (window) {
    case "day":
      return day;
    case "week":
      return day.subtract({ days: day.dayOfWeek - 1 });
    case "month":
      return day.with({ day: 1 });
    case "year":
      return day.with({ month: 1, day: 1 });
  }
}

/** The start of a day in microseconds, at least 0: the clocks of servers begin with the epoch. */
function startOf(day: Temporal.PlainDate, timeZone: string): bigint {
  const start = day.toZonedDateTime(timeZone).epochMilliseconds;
  return BigInt(Math.max(0, start)) * 1_000n;
}

class CalendarWindowAccount implements Account {
  readonly #windows: CalendarWindows;
  #used = 0n;
  #window: DatedWindow = { start: 0n, end: 0n };

  constructor(windows: CalendarWindows) {
    this.#windows = windows;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    return this.#usedAt(now) + cost <= this.#windows.limit ? 0n : this.#window.end - now;
  }

  remaining(now: bigint): bigint {
    return this.#windows.limit - this.#usedAt(now);
  }

  untilRefill(now: bigint): bigint {
    return this.untilReset(now);
  }

  untilReset(now: bigint): bigint {
    return this.#usedAt(now) === 0n ? 0n : this.#window.end - now;
  }

  charge(cost: bigint, now: bigint): void {
    this.#used = this.#usedAt(now) + cost;
    this.#window = this.#windows.at(now);
  }

  refund(cost: bigint, charged: bigint, now: bigint): boolean {
    if (this.#usedAt(now) === 0n || charged < this.#window.start) return false;
    this.#used = this.#used > cost ? this.#used - cost : 0n;
    return true;
  }

  advance(): void {}

  copy(): Account {
    return this.copyBy(this.#windows);
  }

  copyBy(windows: CalendarWindows): CalendarWindowAccount {
    const copy = new CalendarWindowAccount(windows);
    copy.#used = this.#used;
    copy.#window = this.#window;
    return copy;
  }

  #usedAt(now: bigint): bigint {
    return now < this.#window.end ? this.#used : 0n;
  }
}
