import { invalidValue } from "../common/errors.ts";
import { toMicroseconds } from "../common/time.ts";

/** A source of time: milliseconds since the epoch, fractions allowed. Read at each call. */
export type Clock = () => number;

const { timeOrigin } = performance;

/** The process's monotonic clock, in whole microseconds since the epoch. */
function monotonicClock(): number {
  return Math.floor((timeOrigin + performance.now()) * 1_000);
}

/**
 * A clock given as an option, in whole microseconds, or the process's own. Throws `HEADGATE_INVALID_OPTION` for anything but a
 * function; reading it does so for anything but a time.
 */
export function createClock(owner: string, clock: unknown): () => number {
  if (clock === undefined) return monotonicClock;
  if (typeof clock === "function") return () => readClock(clock as Clock);
  throw invalidValue(
    `${owner}: clock must be a function that returns milliseconds since the epoch`,
    clock,
  );
}

function readClock(clock: Clock): number {
  const microseconds = toMicroseconds(clock());
  if (!Number.isSafeInteger(microseconds) || microseconds < 0) {
    throw invalidValue("clock must return milliseconds since the epoch", microseconds / 1_000);
  }
  return microseconds;
}
