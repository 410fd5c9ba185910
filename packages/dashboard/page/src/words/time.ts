const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Milliseconds in at most two units: `2 h 5 min`, `45 s`; less than a second is `1 s`. Seconds are rounded up, larger units to the nearest. */
export function formatLength(ms: number): string {
  const whole = Math.max(1_000, ms);
  const largest = UNITS.findIndex(([, size]) => whole >= size);
  const units = UNITS.slice(largest, largest + 2);
  const smallest = units.at(-1)?.[1] ?? 1_000;
  const rounded = (smallest === 1_000 ? Math.ceil : Math.round)(whole / smallest) * smallest;
  // 59.5 minutes are an hour.
  if (rounded >= (UNITS[largest - 1]?.[1] ?? Number.POSITIVE_INFINITY))
    return formatLength(rounded);
  let left = rounded;
  return units
    .flatMap(([unit, size]) => {
      const count = Math.floor(left / size);
      left -= count * size;
      return count === 0 ? [] : [`${count} ${unit}`];
    })
    .join(" ");
}

/** A measured time, with its decimals: `0.42 ms`, `250 ms`, `1.5 s`. */
export function formatMeasured(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms < 10 ? Number(ms.toFixed(2)) : Math.round(ms)} ms`;
}

/** `in 2 h 5 min`, `3 s ago`, `now`. */
export function formatFromNow(at: number, now: number): string {
  if (Math.abs(at - now) < 1_000) return "now";
  return at > now ? `in ${formatLength(at - now)}` : `${formatLength(now - at)} ago`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** A moment in words. Creating a format is slow, and a page has many moments. */
export function formatDate(at: number, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(options);
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", options);
    formats.set(key, format);
  }
  return format.format(at);
}

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

/** A moment, as brief as is unambiguous: `14:03:12` today, `21 Nov, 14:03` within half a year, otherwise `21 Nov 2025`. */
export function formatMoment(at: number, now: number, timeZone?: string): string {
  if (!isMoment(at)) return "unknown";
  const day = (time: number): string => formatDate(time, { timeZone });
  if (day(at) === day(now)) return formatDate(at, { ...CLOCK, timeZone });
  const isNear = Math.abs(at - now) < 183 * 86_400_000;
  const date = { day: "numeric", month: "short", timeZone } as const;
  if (!isNear) return formatDate(at, { ...date, year: "numeric" });
  const { second: _, ...clock } = CLOCK;
  return formatDate(at, { ...date, ...clock });
}

/** A moment with its date and zone, and in UTC: for a title. */
export function formatFully(at: number, timeZone?: string): string {
  if (!isMoment(at)) return "unknown";
  const here = formatDate(at, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    ...CLOCK,
    timeZoneName: "short",
    timeZone,
  });
  return `${here}; ${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Whether a date can be formed from it. */
function isMoment(at: number): boolean {
  return Math.abs(at) <= 8.64e15;
}

const LENGTH = /^\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d)\s*$/;
const SIZES = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of `90s`, `15m`, `2 h`, `7d`; undefined for any other text, and for less than a millisecond or more than 366 days. */
export function parseLength(text: string): number | undefined {
  const [, number, unit] = LENGTH.exec(text) ?? [];
  if (unit === undefined) return undefined;
  const ms = Math.round(Number(number) * SIZES[unit as keyof typeof SIZES]);
  return ms >= 1 && ms <= 366 * SIZES.d ? ms : undefined;
}
