import type { Limit } from "@headgate/core";
import { calendarWindowsOf, findExcessByCalendar } from "../oracle/calendar-window.ts";
import { definitionOf, microsecondsOf } from "../oracle/definition.ts";

/** An admitted request that was not refunded. */
export interface Admission {
  /** Microseconds. */
  readonly at: bigint;
  readonly cost: number;
}

/** Describes the first excess over the guarantee of a limit, if there is one. `admissions` are sorted by time. */
export function findExcess(
  limit: Limit,
  admissions: readonly Admission[],
  extra = 0n,
): string | undefined {
  const { capacity } = definitionOf(limit);
  switch (limit.algorithm) {
    case "gcra":
      return overRate(
        admissions,
        capacity + extra,
        BigInt(limit.limit),
        microsecondsOf(limit.window),
      );
    case "tokenBucket":
      return overRate(
        admissions,
        capacity + extra,
        BigInt(limit.refill),
        microsecondsOf(limit.every),
      );
    case "fixedWindow": {
      const windowAt = calendarWindowsOf(limit);
      if (windowAt !== undefined)
        return findExcessByCalendar(windowAt, admissions, capacity + extra);
      return overWindow(admissions, microsecondsOf(limit.window), capacity * 2n + extra);
    }
    case "slidingWindow": {
      const most = (limit.buckets ?? 1) > 1 ? capacity : capacity * 2n;
      return overWindow(admissions, microsecondsOf(limit.window), most + extra);
    }
    case "slidingLog":
      return overWindow(admissions, microsecondsOf(limit.window), capacity + extra);
    case "concurrency":
      throw new Error("admissions do not tell how many slots are held");
  }
}

/** Describes the first interval (t - window, t] that admitted more than `most` units. */
function overWindow(
  admissions: readonly Admission[],
  window: bigint,
  most: bigint,
): string | undefined {
  let first = 0;
  let total = 0n;
  for (const { at, cost } of admissions) {
    total += BigInt(cost);
    for (let oldest = admissions[first]; oldest && oldest.at <= at - window; ) {
      total -= BigInt(oldest.cost);
      first += 1;
      oldest = admissions[first];
    }
    if (total > most)
      return `${total} admitted in the ${window} µs to ${at}, at most ${most} may be`;
  }
  return undefined;
}

/** Describes the first interval of length t that admitted more than `capacity + refill * t / every` units. */
function overRate(
  admissions: readonly Admission[],
  capacity: bigint,
  refill: bigint,
  every: bigint,
): string | undefined {
  let total = 0n;
  /** The lowest difference so far between admitted and refilled units, in 1/every units. */
  let least: bigint | undefined;
  for (const { at, cost } of admissions) {
    const before = total * every - refill * at;
    if (least === undefined || before < least) least = before;
    total += BigInt(cost);
    const excess = total * every - refill * at - least - capacity * every;
    if (excess > 0n) return `${excess} / ${every} units too many admitted until ${at}`;
  }
  return undefined;
}

/** Describes the first window of a fixed window limit that admitted too much, without refunds. */
export function findExcessInOwnWindow(
  limit: Limit,
  admissions: readonly Admission[],
): string | undefined {
  if (limit.algorithm !== "fixedWindow") return undefined;
  const windowAt = calendarWindowsOf(limit);
  if (windowAt !== undefined)
    return findExcessByCalendar(windowAt, admissions, BigInt(limit.limit));
  const window = microsecondsOf(limit.window);
  let end = 0n;
  let total = 0n;
  for (const { at, cost } of admissions) {
    if (at >= end) {
      end = (limit.align === "clock" ? at - (at % window) : at) + window;
      total = 0n;
    }
    total += BigInt(cost);
    if (total > limit.limit) return `${total} admitted in the window that ends at ${end}`;
  }
  return undefined;
}
