import { formatReceived, HeadgateError } from "../common/errors.ts";
import { formatUnknownOptions } from "../common/options.ts";
import type { Limit } from "../common/policy.ts";
import { parseDuration } from "../common/time.ts";
import { isCalendarWindow } from "./calendar.ts";

/**
 * The largest limit, burst, capacity and refill for which decisions are exact: a script divides their products with the longest
 * window in doubles, and a counter in Redis has 4 bytes for the units of each limit.
 */
export const MAX_COUNT = 1_000_000_000;

/** The remedy for a limit that is too large, for an error message; empty for a value that is no such number. */
export function hintForLargeCount(value: unknown, max: number): string {
  const isLarge = typeof value === "number" && value > max && max > 10_000;
  return isLarge ? "; count in larger units, such as kilobytes instead of bytes" : "";
}

/** The fastest rate for which decisions are exact: one unit per microsecond. */
const MAX_UNITS_PER_MICROSECOND = 1;

/** Throws `HEADGATE_INVALID_LIMIT`, naming the limit's algorithm and option. */
export function rejectLimit(limit: Limit, message: string): never {
  throw new HeadgateError("HEADGATE_INVALID_LIMIT", `${limit.algorithm}: ${message}`);
}

/** Reads a whole number from `min` to `max`. */
export function readCount(limit: Limit, option: string, max: number = MAX_COUNT, min = 1): number {
  const value = optionOf(limit, option);
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    rejectLimit(
      limit,
      `${option} must be a whole number from ${min} to ${max}, got ${formatReceived(value)}${hintForLargeCount(value, max)}`,
    );
  }
  // Turns -0 into 0.
  return (value as number) + 0;
}

/** Reads a whole number of units per `window` microseconds, from `min` to one per microsecond. */
export function readRate(
  limit: Limit,
  option: string,
  window: number,
  windowOption: string,
  max: number = MAX_COUNT,
  min = 0,
): number {
  const count = readCount(limit, option, max, min);
  if (count > window * MAX_UNITS_PER_MICROSECOND) {
    rejectLimit(
      limit,
      `${option} per ${windowOption} must be at most 1000000 per second, got ${count} in ${window / 1_000} ms${hintForLargeCount(count, window * MAX_UNITS_PER_MICROSECOND)}`,
    );
  }
  return count;
}

/** Reads a duration as microseconds. */
export function readWindow(limit: Limit, option: string): number {
  const value = optionOf(limit, option);
  if (isCalendarWindow(value)) {
    rejectLimit(limit, `only fixedWindow has calendar windows; got ${formatReceived(value)}`);
  }
  return parseDuration(value, `${limit.algorithm}: ${option}`, "HEADGATE_INVALID_LIMIT");
}

/** Throws for an unknown property, since a misspelt one must not be ignored, and for an invalid `name` or `per`. */
export function requireKnownOptions(limit: Limit, known: readonly string[]): void {
  const common =
    limit.algorithm === "concurrency" ? ["name", "per"] : ["block", "name", "notifyAt", "per"];
  const accepted = [...known, ...common];
  const unknown = Object.keys(limit).filter(
    (option) => option !== "algorithm" && !accepted.includes(option),
  );
  if (unknown.length > 0) rejectLimit(limit, formatUnknownOptions(unknown, accepted));
  requireText(limit, "name", /^[\x20-\x7e]{1,64}$/, "1 to 64 printable ASCII characters");
  requireText(limit, "per", /^[\w.-]{1,64}$/, "1 to 64 letters, digits, dots, dashes, underscores");
}

function requireText(limit: Limit, option: string, pattern: RegExp, rule: string): void {
  const value = optionOf(limit, option);
  if (value !== undefined && !(typeof value === "string" && pattern.test(value))) {
    rejectLimit(limit, `${option} must be ${rule}, got ${formatReceived(value)}`);
  }
}

function optionOf(limit: Limit, option: string): unknown {
  return (limit as unknown as Record<string, unknown>)[option];
}
