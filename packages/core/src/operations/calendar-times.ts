import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Boundaries } from "../algorithms/calendar.ts";
import { digitsOf, LONG_DIGITS } from "../scripts/digits.ts";

/** The boundaries of windows as passed to the scripts, written once while a window lasts. */
const written = new WeakMap<Boundaries, string>();

/** The calendar boundaries that limits add to a call at a moment; undefined if no limit has a calendar. */
export function writeTimes(
  limits: readonly CompiledLimit[],
): ((now: number) => string) | undefined {
  const calendars = limits.flatMap(({ calendar }) => calendar ?? []);
  if (calendars.length === 0) return undefined;
  return (now) => calendars.map((calendar) => writeBoundaries(calendar.around(now))).join("");
}

function writeBoundaries(boundaries: Boundaries): string {
  const known = written.get(boundaries);
  if (known !== undefined) return known;
  const text = boundaries.map((boundary) => digitsOf(boundary, LONG_DIGITS)).join("");
  written.set(boundaries, text);
  return text;
}
