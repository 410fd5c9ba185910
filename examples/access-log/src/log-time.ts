const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const FORMAT = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/;

/**
 * Reads a log's time, as in `17/May/2015:10:05:03 +0200`, as milliseconds since the epoch; undefined for what is none.
 * Years from 1970 to 2199: what a store's clock can show.
 */
export function parseLogTime(text: string): number | undefined {
  const match = FORMAT.exec(text);
  if (match === null) return undefined;
  const [day, year, hour, minute, second, zoneHour, zoneMinute] = [1, 3, 4, 5, 6, 8, 9].map(
    (group) => Number(match[group]),
  ) as [number, number, number, number, number, number, number];
  const month = MONTHS.indexOf(match[2] as string);
  const midnight = new Date(Date.UTC(year, month, day));
  const isYear = year >= 1970 && year < 2200;
  const isDate =
    isYear && month >= 0 && midnight.getUTCMonth() === month && midnight.getUTCDate() === day;
  // 60 is a leap second: the first of the next minute.
  const isTime = hour < 24 && minute < 60 && second <= 60 && zoneHour < 24 && zoneMinute < 60;
  if (!isDate || !isTime) return undefined;
  const offset = (zoneHour * 60 + zoneMinute) * (match[7] === "-" ? -1 : 1);
  const time = midnight.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1_000;
  return time >= 0 ? time : undefined;
}
