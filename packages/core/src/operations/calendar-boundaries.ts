import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Boundaries } from "../algorithms/calendar.ts";
import { encodeDigits, LONG_DIGITS } from "../scripts/digits.ts";

/** The encoded boundaries of windows; a window's are encoded once. */
const encodedBoundaries = new WeakMap<Boundaries, string>();

/** Creates the function that encodes the calendar boundaries around a time for a call; undefined if no limit has a calendar. */
export function createBoundaryEncoder(
  limits: readonly CompiledLimit[],
): ((now: number) => string) | undefined {
  const calendars = limits.flatMap(({ calendar }) => calendar ?? []);
  if (calendars.length === 0) return undefined;
  return (now) =>
    calendars.map((calendar) => encodeBoundaries(calendar.boundariesAround(now))).join("");
}

function encodeBoundaries(boundaries: Boundaries): string {
  const cached = encodedBoundaries.get(boundaries);
  if (cached !== undefined) return cached;
  const text = boundaries.map((boundary) => encodeDigits(boundary, LONG_DIGITS)).join("");
  encodedBoundaries.set(boundaries, text);
  return text;
}
