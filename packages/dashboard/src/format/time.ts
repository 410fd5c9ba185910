import type { Duration } from "@headgate/core";
import { parseDuration, toMilliseconds } from "@headgate/core/internal";

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
  ["millisecond", 1],
] as const;

/** Milliseconds in one or two units: `2 hours 5 minutes`, `1 minute`. */
function formatSpan(ms: number): string {
  if (!Number.isFinite(ms)) return "for ever";
  const whole = ms < 1_000 ? Math.ceil(ms) : Math.ceil(ms / 1_000) * 1_000;
  const first = UNITS.findIndex(([, size]) => whole >= size);
  if (first === -1) return "0 seconds";
  let left = whole;
  const written = UNITS.slice(first, first + 2).flatMap(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? "" : "s"}`];
  });
  return written.join(" ");
}

/** A duration of a policy: `15 minutes`. Unchanged if it cannot be parsed. */
export function formatDuration(duration: Duration): string {
  try {
    return formatSpan(
      toMilliseconds(parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION")),
    );
  } catch {
    return String(duration);
  }
}

/** The length of a window, as in `100 per minute`. */
export function formatPer(duration: Duration): string {
  return formatDuration(duration).replace(/^1 /, "");
}

/** A moment in milliseconds since the epoch: `2026-11-22 23:05:10 UTC`. */
export function formatTime(at: number): string {
  const rounded = Math.ceil(at / 1_000) * 1_000;
  if (!Number.isFinite(rounded) || Math.abs(rounded) > 8.64e15) return "an unknown time";
  return `${new Date(rounded).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The end of something that may have none. */
export function formatEnd(until: number | null): string {
  return until === null ? "until it is removed" : `until ${formatTime(until)}`;
}

/** An end in the control record, in milliseconds. */
export function endMs(until: number | null): number | null {
  return until === null ? null : toMilliseconds(until);
}
