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
    // Where the value may be a secret or a client's, its text is not shown.
    const hint = format === formatReceived ? suggestSpelling(value) : "";
    throw new HeadgateError(
      code,
      `${option} must be a duration from 1 ms to 366 days: a whole number of milliseconds, or a whole number and a unit like "250ms", "10s", "1m", "1h", "7d", "30 seconds"; got ${format(value)}${hint}`,
    );
  }
  return (ms as number) * 1_000;
}

/** The milliseconds of a duration's text, without a check of their range; NaN for any other text. */
export function parseMilliseconds(text: string): number {
  const [, number, unit = ""] = /^(\d{1,15})( ?[a-z]+)$/.exec(text) ?? [];
  return Number(number) * (MS_PER_UNIT.get(unit) ?? Number.NaN);
}

/** Units as others write them, in milliseconds. */
const OTHER_SPELLINGS: readonly (readonly [unit: RegExp, ms: number])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/, 1],
  [/^(s|secs?|seconds?)$/, 1_000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hrs?|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
  [/^(w|wks?|weeks?)$/, 604_800_000],
];

/** The way to write `"10 s"`, `"15 min"` or `"PT1M"` (ISO 8601), for an error message; empty for text that is no duration. */
function suggestSpelling(value: unknown): string {
  if (typeof value !== "string" || value.length > 40) return "";
  const text = value.trim().toLowerCase();
  const [, number, word = ""] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text) ?? [];
  const unit = OTHER_SPELLINGS.find(([spelling]) => spelling.test(word))?.[1];
  const iso = /^p(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?)?$/.exec(text);
  const sizes = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];
  const ms = iso
    ? sizes.reduce((sum, size, i) => sum + Number(iso[i + 1] ?? 0) * size, 0)
    : Number(number) * (unit ?? Number.NaN);
  if (!Number.isInteger(ms) || ms < 1 || ms > MAX_DURATION_MS) return "";
  return `; write "${formatDuration(ms * 1_000)}"`;
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
