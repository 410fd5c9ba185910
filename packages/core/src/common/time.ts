import type { HeadgateErrorCode } from "./errors.ts";
import { formatReceived, HeadgateError } from "./errors.ts";

/** Duration texts that the compiler can check. */
type DurationText =
  | `${number}${"ms" | "s" | "m" | "h" | "d"}`
  | `${number} ${"millisecond" | "second" | "minute" | "hour" | "day"}${"" | "s"}`;

/**
 * A duration: a whole number of milliseconds, or a whole number with a unit, such as `"250ms"`, `"10s"`, `"1m"`, `"1h"`,
 * `"7d"`, `"30 seconds"` or `"1 day"`. Text that the compiler does not know, such as an environment variable, is checked at run
 * time.
 */
export type Duration = number | DurationText | (string & Record<never, never>);

/**
 * A duration in which the compiler finds a misspelt literal. `Text` is inferred: `string` for text that the compiler does not
 * know.
 */
export type CheckedDuration<Text extends string> =
  | number
  | (string extends Text ? Text : DurationText);

const UNITS = [
  ["d", 86_400_000, "day"],
  ["h", 3_600_000, "hour"],
  ["m", 60_000, "minute"],
  ["s", 1_000, "second"],
  ["ms", 1, "millisecond"],
] as const;

const MS_PER_UNIT: ReadonlyMap<string, number> = new Map(
  UNITS.flatMap(([unit, size, word]) => [
    [unit, size],
    [` ${word}`, size],
    [` ${word}s`, size],
  ]),
);

/** The longest duration Headgate takes, in milliseconds: 366 days. */
export const MAX_DURATION_MS: number = 366 * 86_400_000;

/** `setTimeout` takes at most 2^31 - 1 ms, 24.8 days; longer waits use several timers. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * Reads a duration as integer microseconds. Throws an error with `code`, naming the `option` and the received value, as written
 * by `format`.
 */
export function parseDuration(
  value: unknown,
  option: string,
  code: HeadgateErrorCode,
  format: (value: unknown) => string = formatReceived,
): number {
  const ms = typeof value === "string" ? parseMilliseconds(value) : value;
  if (!Number.isInteger(ms) || (ms as number) < 1 || (ms as number) > MAX_DURATION_MS) {
    throw new HeadgateError(
      code,
      `${option} must be a duration from 1 ms to 366 days: a whole number of milliseconds, or a whole number and a unit like "250ms", "10s", "1m", "1h", "7d", "30 seconds"; got ${format(value)}`,
    );
  }
  return (ms as number) * 1_000;
}

function parseMilliseconds(text: string): number {
  const [, number, unit = ""] = /^(\d{1,15})( ?[a-z]+)$/.exec(text) ?? [];
  return Number(number) * (MS_PER_UNIT.get(unit) ?? Number.NaN);
}

/** Writes microseconds as the shortest whole duration: 60,000,000 is `"1m"`, 90,000,000 is `"90s"`. */
export function formatDuration(microseconds: number): string {
  const ms = toMilliseconds(microseconds);
  for (const [unit, size] of UNITS) {
    if (ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

/** Microseconds as milliseconds, rounded up, so that a wait is never too short. */
export function toMilliseconds(microseconds: number): number {
  return Math.ceil(microseconds / 1_000);
}

/** A clock's milliseconds (fractions allowed) as integer microseconds. */
export function toMicroseconds(milliseconds: number): number {
  return Math.floor(milliseconds * 1_000);
}
