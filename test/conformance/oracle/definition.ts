import type { Duration, Limit } from "@headgate/core";
import type { Definition } from "./account.ts";
import { defineLevel } from "./bucket.ts";
import { calendarWindowsOf, defineCalendarWindow, isCalendarWindow } from "./calendar-window.ts";
import { defineFixedWindow } from "./fixed-window.ts";
import { defineLog } from "./sliding-log.ts";
import { defineConcurrency } from "./slots.ts";
import { defineSubWindows } from "./sub-windows.ts";
import { defineWeightedWindow } from "./weighted-window.ts";

const MS_PER_UNIT = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The definition of a limit. */
export function definitionOf(limit: Limit): Definition {
  switch (limit.algorithm) {
    case "gcra": {
      const every = microsecondsOf(limit.window);
      // A limit of 0 grants nothing, and drains one earlier unit in each window.
      if (limit.limit === 0) return defineLevel({ capacity: 0n, refill: 1n, every });
      return defineLevel({
        capacity: BigInt(limit.burst ?? limit.limit),
        refill: BigInt(limit.limit),
        every,
      });
    }
    case "tokenBucket":
      return defineLevel({
        capacity: BigInt(limit.capacity),
        refill: BigInt(limit.refill),
        every: microsecondsOf(limit.every),
      });
    case "fixedWindow": {
      const windowAt = calendarWindowsOf(limit);
      if (windowAt !== undefined) return defineCalendarWindow(BigInt(limit.limit), windowAt);
      return defineFixedWindow({
        limit: BigInt(limit.limit),
        window: microsecondsOf(limit.window),
        align: limit.align ?? "first",
      });
    }
    case "slidingWindow": {
      const { buckets = 1 } = limit;
      const window = microsecondsOf(limit.window);
      return buckets === 1
        ? defineWeightedWindow(BigInt(limit.limit), window)
        : defineSubWindows(BigInt(limit.limit), window, BigInt(buckets));
    }
    case "slidingLog":
      return defineLog(BigInt(limit.limit), microsecondsOf(limit.window));
    case "concurrency":
      return defineConcurrency(limit, microsecondsOf(limit.ttl));
  }
}

/** The reported name of a limit: its own name, or its quota and the shortest form of its window. */
export function nameOf(limit: Limit): string {
  if (limit.name !== undefined) return limit.name;
  if (limit.algorithm === "concurrency") return `${limit.limit}-at-once`;
  return limit.algorithm === "tokenBucket"
    ? `${limit.refill}-per-${shortest(limit.every)}`
    : `${limit.limit}-per-${shortest(limit.window)}`;
}

/** A duration in whole microseconds; a day for a calendar window. */
export function microsecondsOf(duration: number | string): bigint {
  return BigInt(millisecondsOf(duration)) * 1_000n;
}

function shortest(duration: number | string): string {
  if (isCalendarWindow(duration as Duration)) return String(duration);
  const ms = millisecondsOf(duration);
  const unit = (["d", "h", "m", "s"] as const).find((name) => ms % MS_PER_UNIT[name] === 0) ?? "ms";
  return `${ms / MS_PER_UNIT[unit]}${unit}`;
}

function millisecondsOf(duration: number | string): number {
  if (typeof duration === "number") return duration;
  if (isCalendarWindow(duration as Duration)) return MS_PER_UNIT.d;
  const unit = duration.replace(/^\d+/, "") as keyof typeof MS_PER_UNIT;
  return Number.parseInt(duration, 10) * MS_PER_UNIT[unit];
}
