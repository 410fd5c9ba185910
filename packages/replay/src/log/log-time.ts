const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** The index of a month by its three letters as one number. */
const MONTH_OF: ReadonlyMap<number, number> = new Map(
  MONTHS.map((name, month) => [lettersAt(Buffer.from(name), 0), month]),
);

/** The length of a time such as `17/May/2015:10:05:03 +0200`. */
export const LOG_TIME_BYTES = 26;

/** The separators and their positions. */
const SIGNS = [..."//::: "].map((sign) => sign.charCodeAt(0));
const SIGNS_AT = [2, 6, 11, 14, 17, 20];

const ZERO = 0x30;
const PLUS = 0x2b;
const MINUS = 0x2d;

/** Caches the midnight of the last day, because most lines of a log have the same day. */
let lastDay = -1;
let lastMidnight = 0;

/**
 * Parses a time such as `17/May/2015:10:05:03 +0200` as milliseconds since the epoch; undefined if invalid.
 * The clock of a store supports the years 1970 to 2199.
 */
export function parseLogTime(bytes: Uint8Array, at: number): number | undefined {
  for (let i = 0; i < SIGNS.length; i += 1) {
    if (bytes[at + (SIGNS_AT[i] as number)] !== SIGNS[i]) return undefined;
  }
  const sign = bytes[at + 21];
  const midnight = midnightOf(digitsAt(bytes, at + 7, 4), bytes, at);
  const hour = digitsAt(bytes, at + 12, 2);
  const minute = digitsAt(bytes, at + 15, 2);
  const second = digitsAt(bytes, at + 18, 2);
  const zoneHour = digitsAt(bytes, at + 22, 2);
  const zoneMinute = digitsAt(bytes, at + 24, 2);
  // NaN fails these comparisons too. 60 is a leap second, the first second of the next minute.
  const isTime = hour < 24 && minute < 60 && second <= 60 && zoneHour < 24 && zoneMinute < 60;
  if (!isTime || (sign !== PLUS && sign !== MINUS)) return undefined;
  const offset = (zoneHour * 60 + zoneMinute) * (sign === MINUS ? -1 : 1);
  const time = midnight + ((hour * 60 + minute - offset) * 60 + second) * 1_000;
  return time >= 0 ? time : undefined;
}

/** The midnight of a day; NaN if there is no such day. */
function midnightOf(year: number, bytes: Uint8Array, at: number): number {
  const date = digitsAt(bytes, at, 2);
  const month = MONTH_OF.get(lettersAt(bytes, at + 3)) ?? Number.NaN;
  const day = (year * 12 + month) * 100 + date;
  if (day === lastDay) return lastMidnight;
  const midnight = new Date(Date.UTC(year, month, date));
  const isDate = midnight.getUTCMonth() === month && midnight.getUTCDate() === date;
  if (!isDate || !(year >= 1970 && year < 2200)) return Number.NaN;
  lastDay = day;
  lastMidnight = midnight.getTime();
  return lastMidnight;
}

/** Parses `count` digits; NaN if one of them is not a digit. */
function digitsAt(bytes: Uint8Array, at: number, count: number): number {
  let number = 0;
  for (let i = at; i < at + count; i += 1) {
    const digit = (bytes[i] as number) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

function lettersAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
  );
}
