import { formatReceived, HeadgateError } from "../errors.ts";
import { toMicroseconds } from "../time.ts";

/** A source of time: milliseconds since the epoch, fractions allowed. Read at each call. */
export type Clock = () => number;

/** Throws `HEADGATE_INVALID_OPTION` for a clock that is not a function. */
export function requireClock(owner: string, clock: unknown): void {
  if (clock === undefined || typeof clock === "function") return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: clock must be a function that returns milliseconds since the epoch, got ${formatReceived(clock)}`,
  );
}

/** A clock's reading in microseconds. Throws `HEADGATE_INVALID_OPTION` if it is not a time. */
export function readClock(clock: Clock): number {
  const microseconds = toMicroseconds(clock());
  if (!Number.isSafeInteger(microseconds) || microseconds < 0) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `clock must return milliseconds since the epoch, got ${formatReceived(microseconds / 1_000)}`,
    );
  }
  return microseconds;
}
