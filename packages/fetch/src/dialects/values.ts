/** The longest value of a header that is read, in characters. */
export const MAX_VALUE = 4_096;

/** The longest time that a value means, in milliseconds: a longer one means this. */
const MAX_TIME_MS = 366 * 86_400_000;

/** A number in a header: digits, perhaps with a fraction. Undefined for everything else, such as `-1`, `1e9` or ` `. */
export function parseNumber(text: string): number | undefined {
  return /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
}

/** From these on, a number is a time since the Unix epoch: in seconds (September 2001), in milliseconds (March 1973). */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e11;

/**
 * Milliseconds from `now` (since the Unix epoch) to a time in a header, never negative. A number is in seconds, or a time since the
 * Unix epoch in seconds or milliseconds, distinguished by its size; text is a duration like `6m0s` or `12ms` (as Go prints it), an
 * RFC 3339 time, or an HTTP date (RFC 9110). Undefined for everything else. More than a year is a year.
 */
export function parseTime(text: string, now: number): number | undefined {
  const number = parseNumber(text);
  const ms =
    number === undefined
      ? (parseGoDuration(text) ?? untilDate(text, now))
      : fromNumber(number, now);
  return ms === undefined ? undefined : Math.min(MAX_TIME_MS, Math.max(0, Math.ceil(ms)));
}

function fromNumber(number: number, now: number): number {
  if (number >= EPOCH_MS) return number - now;
  return number >= EPOCH_SECONDS ? number * 1_000 - now : number * 1_000;
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** The milliseconds of `1h2m3.5s`, `6m0s`, `12ms`. */
function parseGoDuration(text: string): number | undefined {
  const part = /(\d{1,9}(?:\.\d{1,9})?)(ms|h|m|s)/g;
  if (text.length > 40 || !/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s)){1,4}$/.test(text))
    return undefined;
  let ms = 0;
  for (const [, number, unit] of text.matchAll(part))
    ms += Number(number) * (UNIT_MS[unit as string] as number);
  return ms;
}

/** `2025-08-21T12:40:59Z`. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** The three forms of an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

function untilDate(text: string, now: number): number | undefined {
  const at = parseDate(text);
  return at === undefined ? undefined : at - now;
}

/** A date, in milliseconds since the Unix epoch. */
export function parseDate(text: string): number | undefined {
  const isHttpDate = HTTP_DATE.test(text);
  if (!isHttpDate && !RFC_3339.test(text)) return undefined;
  // The third form of an HTTP date is in GMT without saying so.
  const at = Date.parse(isHttpDate && !text.endsWith("GMT") ? `${text} GMT` : text);
  return Number.isNaN(at) ? undefined : at;
}
