import { Temporal } from "temporal-polyfill";
import { expect, test } from "vitest";
import { openTimeZone } from "./calendar.ts";

const DAY = 86_400_000;

/** Zones of each kind of trouble; `HEADGATE_LONG=1` takes each of their days, and every zone. */
const ZONES = [
  "UTC",
  "Etc/GMT+12",
  "Pacific/Kiritimati", // the first to see a day; skipped one in 1994
  "Pacific/Apia", // skipped 2011-12-30
  "Pacific/Fakaofo", // skipped 2011-12-30, too
  "Pacific/Kwajalein", // skipped 1993-08-21
  "Pacific/Pago_Pago", // the last to see a day
  "Pacific/Chatham", // 45 minutes
  "Pacific/Auckland",
  "Pacific/Norfolk", // 30 minutes, no summer time until 2019
  "Australia/Lord_Howe", // clocks move by half an hour
  "Australia/Eucla",
  "Australia/Sydney",
  "Asia/Tokyo",
  "Asia/Pyongyang", // moved by half an hour twice
  "Asia/Kathmandu",
  "Asia/Kolkata",
  "Asia/Tehran", // summer time began and ended at midnight
  "Asia/Amman",
  "Asia/Beirut", // skips midnight
  "Asia/Gaza",
  "Asia/Jerusalem",
  "Africa/Cairo", // skips midnight, and in 2014 for two summers
  "Africa/Casablanca", // put back for Ramadan
  "Africa/El_Aaiun",
  "Africa/Monrovia", // 44 minutes and 30 seconds until 1972
  "Antarctica/Troll", // moves by two hours
  "Antarctica/Casey",
  "Europe/Berlin",
  "Europe/Dublin", // whose winter time is the exception
  "Europe/London", // on summer time all year until 1971
  "Europe/Lisbon",
  "Atlantic/Azores", // puts midnight back
  "America/Sao_Paulo", // skipped midnight until 2018
  "America/Asuncion",
  "America/Santiago",
  "America/Havana", // puts one o'clock back to midnight
  "America/St_Johns", // put 00:01 back to 23:01
  "America/Scoresbysund",
  "America/Godthab",
  "America/New_York",
  "America/Los_Angeles",
  "America/Caracas",
];

const isLong = process.env["HEADGATE_LONG"] === "1";
const first = Temporal.PlainDate.from("1970-01-02");
const last = Temporal.PlainDate.from("2100-12-31");

/** By then, most zones change their clocks by the same rule each year. */
const lastChange = isLong ? last : Temporal.PlainDate.from("2040-12-31");

/** The days around each change of a zone's clocks, and one in thirteen weeks; in the long run, until 2100 and one in four. */
function daysOf(zone: string): Temporal.PlainDate[] {
  const step = { days: isLong ? (ZONES.includes(zone) ? 1 : 28) : 91 };
  const days: Temporal.PlainDate[] = [];
  for (let day = first; isBefore(day, last); day = day.add(step)) days.push(day);
  const ends = lastChange.toZonedDateTime(zone);
  let change = first.toZonedDateTime(zone).getTimeZoneTransition("next");
  while (change !== null && Temporal.ZonedDateTime.compare(change, ends) < 0) {
    for (const beside of [-1, 0, 1, 2]) days.push(change.toPlainDate().add({ days: beside }));
    change = change.getTimeZoneTransition("next");
  }
  return days;
}

function isBefore(one: Temporal.PlainDate, other: Temporal.PlainDate): boolean {
  return Temporal.PlainDate.compare(one, other) < 0;
}

test.each(isLong ? [...new Set([...ZONES, ...Intl.supportedValuesOf("timeZone")])] : ZONES)(
  "each day of %s begins when a calendar says",
  { timeout: 60_000 },
  (name) => {
    const zone = openTimeZone(name);
    for (const day of daysOf(name)) {
      const local = Date.UTC(day.year, day.month - 1, day.day);
      const moment = zone.firstAt(local);
      const exact = day.toZonedDateTime(name).epochMilliseconds;
      if (moment !== exact) {
        expect.fail(
          `${day} begins at ${new Date(moment).toJSON()}, not ${new Date(exact).toJSON()}`,
        );
      }
    }
  },
);

test("a day whose midnight is skipped begins where clocks jump", () => {
  // From 23:30 to 0:30, as nowhere since.
  const moment = openTimeZone("America/Toronto").firstAt(Date.UTC(1919, 2, 31));
  expect(new Date(moment).toJSON()).toBe("1919-03-31T04:30:00.000Z");
});

test("an unknown time zone throws", () => {
  expect(() => openTimeZone("Europe/Nowhere")).toThrow(RangeError);
});

test("local times agree with the calendar", () => {
  const zone = openTimeZone("Pacific/Chatham");
  for (let moment = 0; moment < 130 * 366 * DAY; moment += 97 * DAY + 3_661_000) {
    const { year, month, day, hour, minute, second } =
      Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO("Pacific/Chatham");
    expect(zone.localAt(moment)).toBe(Date.UTC(year, month - 1, day, hour, minute, second));
  }
});
