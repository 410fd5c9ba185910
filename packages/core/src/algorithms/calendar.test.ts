import { describe, expect, test } from "vitest";
import type { CalendarWindow } from "../common/policy.ts";
import { getCalendar, windowMsAt } from "./calendar.ts";

const micros = (text: string): number => Date.parse(text) * 1_000;

/** The boundaries around a moment, as ISO texts without what they all end with. */
function around(window: CalendarWindow, timeZone: string, moment: string): string[] {
  return getCalendar(window, timeZone)
    .boundariesAround(micros(moment))
    .map((boundary) => new Date(boundary / 1_000).toJSON().replace(":00.000Z", ""));
}

describe("the windows around a time", () => {
  test.each([
    [
      "day",
      "UTC",
      "2026-11-22T15:43:00Z",
      ["2026-11-21T00:00", "2026-11-22T00:00", "2026-11-23T00:00", "2026-11-24T00:00"],
    ],
    [
      "week",
      "UTC",
      "2026-11-22T15:43:00Z", // a Sunday
      ["2026-11-09T00:00", "2026-11-16T00:00", "2026-11-23T00:00", "2026-11-30T00:00"],
    ],
    [
      "week",
      "UTC",
      "2026-11-23T00:00:00Z", // a Monday
      ["2026-11-16T00:00", "2026-11-23T00:00", "2026-11-30T00:00", "2026-12-07T00:00"],
    ],
    [
      "month",
      "Europe/Berlin", // summer time begins in March
      "2028-02-29T12:00:00Z",
      ["2027-12-31T23:00", "2028-01-31T23:00", "2028-02-29T23:00", "2028-03-31T22:00"],
    ],
    [
      "month",
      "Asia/Kathmandu",
      "2026-12-31T18:15:00Z",
      ["2026-11-30T18:15", "2026-12-31T18:15", "2027-01-31T18:15", "2027-02-28T18:15"],
    ],
    [
      "year",
      "America/New_York",
      "2027-01-01T04:59:59.999Z",
      ["2025-01-01T05:00", "2026-01-01T05:00", "2027-01-01T05:00", "2028-01-01T05:00"],
    ],
    [
      "day",
      "Pacific/Apia", // had no 30th of December
      "2011-12-31T09:00:00Z",
      ["2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00", "2012-01-01T10:00"],
    ],
    [
      "day",
      "America/St_Johns", // 00:01 was 23:01 again, of the day before
      "2010-11-07T02:45:00Z",
      ["2010-11-06T02:30", "2010-11-07T02:30", "2010-11-08T03:30", "2010-11-09T03:30"],
    ],
    [
      "month",
      "UTC",
      "1970-01-01T00:00:00Z",
      ["1970-01-01T00:00", "1970-01-01T00:00", "1970-02-01T00:00", "1970-03-01T00:00"],
    ],
  ] as const)("%s in %s at %s", (window, timeZone, moment, boundaries) => {
    expect(around(window, timeZone, moment)).toEqual(boundaries);
  });

  test("windows follow each other without a gap through years and clock changes", () => {
    for (const timeZone of ["Europe/Dublin", "Africa/Cairo", "Pacific/Apia", "America/St_Johns"]) {
      const calendar = getCalendar("day", timeZone);
      let [, opening, closing, latest] = calendar.boundariesAround(micros("2009-12-31T12:00:00Z"));
      while (closing < micros("2016-01-01T00:00:00Z")) {
        const next = calendar.boundariesAround(closing);
        expect(next.slice(0, 3)).toEqual([opening, closing, latest]);
        expect(calendar.boundariesAround(latest - 1)).toBe(next);
        [, opening, closing, latest] = next;
      }
    }
  });
});

test("times in a cached window need no look-up of the time zone", () => {
  const calendar = getCalendar("month", "Asia/Tehran");
  const [, opening, closing] = calendar.boundariesAround(micros("2026-11-22T15:43:00Z"));
  expect(calendar.boundariesAround(opening)).toBe(calendar.boundariesAround(closing - 1));
  // Clocks that are not quite the same ask about both sides of a boundary in turn.
  const both = [calendar.boundariesAround(closing - 1), calendar.boundariesAround(closing)];
  expect(both[0]).not.toBe(both[1]);
  expect(calendar.boundariesAround(closing - 1)).toBe(both[0]);
  expect(calendar.boundariesAround(closing)).toBe(both[1]);
  expect(getCalendar("month", "Asia/Tehran")).toBe(calendar);
});

test("the length of a window is that of the window around the time", () => {
  const limit = { windowMs: 1, calendar: getCalendar("day", "Europe/Berlin") };
  expect(windowMsAt(limit, micros("2026-03-29T12:00:00Z"))).toBe(23 * 3_600_000);
  expect(windowMsAt(limit, micros("2026-10-25T12:00:00Z"))).toBe(25 * 3_600_000);
  expect(windowMsAt({ windowMs: 7 }, 0)).toBe(7);
});
