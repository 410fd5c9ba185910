import type { CheckedWindow, SlidingWindowLimit, WithoutPer, WithPer } from "../common/policy.ts";
import { formatDuration, toMilliseconds } from "../common/time.ts";
import type { CompiledAlgorithm } from "./algorithm.ts";
import { readCount, readRate, readWindow, requireKnownOptions } from "./read-limit.ts";
import { subWindows } from "./sub-windows.ts";
import { weightedWindow } from "./weighted-window.ts";

/** The most sub-windows. */
const MAX_BUCKETS = 60;

/**
 * A limit of `limit` units (0 to 10^9, at most 10^6 per second) in a `window` (1 ms to 366 days) that slides over counters
 * aligned to the Unix epoch.
 *
 * `buckets: 1` (default) weighs the previous window by the share of it that the window still covers: approximate, at worst
 * twice `limit`. `buckets` of 2 to 60 count the oldest sub-window in full: never over `limit` in any window, and under it by
 * at most one sub-window's units. A limiter that uses an invalid limit throws `HEADGATE_INVALID_LIMIT`.
 */
export function slidingWindow<const Text extends string = string>(
  options: WithoutPer<SlidingWindowLimit<never>> & CheckedWindow<Text>,
): SlidingWindowLimit<never>;
export function slidingWindow<const Per extends string, const Text extends string = string>(
  options: WithPer<SlidingWindowLimit<Per>> & CheckedWindow<Text>,
): SlidingWindowLimit<Per>;
export function slidingWindow<const Text extends string = string>(
  options: Omit<SlidingWindowLimit, "algorithm"> & CheckedWindow<Text>,
): SlidingWindowLimit;
export function slidingWindow(options: Omit<SlidingWindowLimit, "algorithm">): SlidingWindowLimit {
  return { algorithm: "slidingWindow", ...options };
}

export function compileSlidingWindow(limit: SlidingWindowLimit): CompiledAlgorithm {
  requireKnownOptions(limit, ["limit", "window", "buckets"]);
  const length = readWindow(limit, "window");
  const count = readRate(limit, "limit", length, "window");
  const buckets = limit.buckets === undefined ? 1 : readCount(limit, "buckets", MAX_BUCKETS);
  const id = `slidingWindow(${length},${buckets})`;
  return {
    ...(buckets === 1 ? weightedWindow(id, count, length) : subWindows(id, count, length, buckets)),
    name: `${count}-per-${formatDuration(length)}`,
    limit: count,
    windowMs: toMilliseconds(length),
    canonical: `slidingWindow(${count},${length},${buckets})`,
  };
}
