import type { Limit } from "@headgate/core";

/**
 * The most requests of one client, each of one unit, that a limit admits in any window (`every` of a token bucket), however the
 * client times them. A window holds its first instant, and not the one at which it ends.
 */
export function mostInAnyWindow(limit: Limit): number {
  switch (limit.algorithm) {
    case "gcra":
      return mostOfBucket(limit.limit === 0 ? 0 : (limit.burst ?? limit.limit), limit.limit);
    case "tokenBucket":
      return mostOfBucket(limit.capacity, limit.refill);
    case "fixedWindow":
      // All of a window at its end and all of the next one. A window that begins with a request holds that one at its beginning.
      return Math.max(0, limit.limit * 2 - (limit.align === "clock" ? 0 : 1));
    case "slidingWindow":
      // Of the last window, the share that is still covered counts, as if its requests had been spread evenly.
      return (limit.buckets ?? 1) > 1 ? limit.limit : Math.max(0, limit.limit * 2 - 1);
    default:
      return limit.limit;
  }
}

/** A full bucket at once, and then the units that come back before the window is over. */
function mostOfBucket(capacity: number, refill: number): number {
  return capacity === 0 ? 0 : capacity + refill - 1;
}
