import type { CalendarWindow, FixedWindowLimit } from "@headgate/core";
import type { Random } from "./random.ts";

const WINDOWS: readonly CalendarWindow[] = ["day", "week", "month", "year"];

/** Time zones whose clocks change at different times and by different amounts. */
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "America/Havana",
  "Africa/Cairo",
  "Africa/Casablanca",
  "Asia/Beirut",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Antarctica/Troll",
  "Pacific/Chatham",
];

/** A calendar window, mostly with a time zone. */
export function randomCalendar(random: Random): Pick<FixedWindowLimit, "window" | "timeZone"> {
  const window = random.pick(WINDOWS);
  return random.chance(0.1) ? { window } : { window, timeZone: random.pick(ZONES) };
}
