import { formatFromNow, formatSpan } from "@headgate/replay/internal";
import type { Span } from "../../../src/counts.ts";

/** A duration in at most two units: `2 h 5 min`, `45 s`; less than a second is `1 s`. */
export function formatDuration(ms: number): string {
  return formatSpan(Math.max(1_000, ms));
}

/** A measured latency with its decimals: `0.42 ms`, `250 ms`, `1.5 s`. */
export function formatLatency(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms < 10 ? Number(ms.toFixed(2)) : Math.round(ms)} ms`;
}

/** `in 2 h 5 min`, `3 s ago`, `now`. */
export function formatRelativeTime(at: number, now: number): string {
  return Math.abs(at - now) < 1_000 ? "now" : formatFromNow(at, now);
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** `14:05`, by this machine's clock. Without `Intl`, as in counts.ts, because the first view must not wait for it. */
export function formatClock(at: number): string {
  const time = new Date(at);
  return `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}`;
}

/** `21 Nov`. */
export function formatDay(at: number): string {
  const time = new Date(at);
  return `${time.getDate()} ${MONTHS[time.getMonth()]}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/** A time, as brief as is unambiguous: `14:03:12` today, `21 Nov, 14:03` within half a year, otherwise `21 Nov 2025`. */
export function formatShortTime(at: number, now: number): string {
  if (!isValidTime(at)) return "unknown";
  const time = new Date(at);
  if (time.toDateString() === new Date(now).toDateString()) {
    return `${formatClock(at)}:${twoDigits(time.getSeconds())}`;
  }
  const isNear = Math.abs(at - now) < 183 * 86_400_000;
  return isNear ? `${formatDay(at)}, ${formatClock(at)}` : `${formatDay(at)} ${time.getFullYear()}`;
}

/** The time zone of this machine at a time, as its offset: `UTC`, `UTC+1`, `UTC−3:30`. */
export function formatZone(at: number): string {
  const minutes = -new Date(isValidTime(at) ? at : 0).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes > 0 ? "+" : "−"}${hours}${rest === 0 ? "" : `:${twoDigits(rest)}`}`;
}

const UTC_TIME = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC\b/g;

/** A text of the server, such as `blocked until 2026-11-22 23:05:10 UTC`, with its times in this machine's zone. */
export function withLocalTimes(text: string, now: number): string {
  return text.replace(UTC_TIME, (written, day: string, time: string) => {
    const at = Date.parse(`${day}T${time}Z`);
    return Number.isNaN(at) ? written : formatShortTime(at, now);
  });
}

let full: Intl.DateTimeFormat | undefined;

/** A time with its date and zone, and in UTC: for a title. */
export function formatFullTime(at: number): string {
  if (!isValidTime(at)) return "unknown";
  // Creating a format is slow, and a page has many moments.
  full ??= new Intl.DateTimeFormat("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  });
  return `${full.format(at)}; ${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Whether a date can be formed from it. */
function isValidTime(at: number): boolean {
  return Math.abs(at) <= 8.64e15;
}

const DURATION = /^\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d)\s*$/;
const SIZES = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of `90s`, `15m`, `2 h`, `7d`; undefined for any other text, and for less than a millisecond or more than 366 days. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit] = DURATION.exec(text) ?? [];
  if (unit === undefined) return undefined;
  const ms = Math.round(Number(number) * SIZES[unit as keyof typeof SIZES]);
  return ms >= 1 && ms <= 366 * SIZES.d ? ms : undefined;
}

/** For a sentence: `in the last hour`. */
export const SPAN_PHRASES: Readonly<Record<Span, string>> = {
  "15m": "in the last 15 minutes",
  "1h": "in the last hour",
  "24h": "in the last 24 hours",
  "30d": "in the last 30 days",
};
