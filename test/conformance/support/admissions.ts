import type { Limit } from "@headgate/core";
import { calendarWindowsOf, findExcessByCalendar } from "../oracle/calendar-window.ts";
import { definitionOf, microsecondsOf } from "../oracle/definition.ts";

/** A request that was admitted and not given back. */
export interface Admission {
  /** Microseconds. */
  readonly at: bigint;
  readonly cost: number;
}

/** What was admitted over a limit's guarantee, in words; undefined when all is well. `admissions` are in the order of their times. */
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

/** More than `most` in some (t - window, t]. */
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

/** More than `capacity + refill * t / every` in some t from one admission to a later one. */
function overRate(
  admissions: readonly Admission[],
  capacity: bigint,
  refill: bigint,
  every: bigint,
): string | undefined {
  let total = 0n;
  /** The least that was admitted before some moment beyond what may come back by then, in 1/every units. */
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

/** More than the limit in one of a fixed window's own windows, when nothing was given back. */
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
