import type { CheckedWindow, GcraLimit, WithoutPer, WithPer } from "../common/policy.ts";
import { formatDuration } from "../common/time.ts";
import type { CompiledAlgorithm } from "./algorithm.ts";
import { readCount, readRate, readWindow, requireKnownOptions } from "./read-limit.ts";
import { bucketShape, compileBucket } from "./token-bucket.ts";

/**
 * A limit of one request every `window / limit`, and `burst` (default `limit`) of them at once: the generic cell rate algorithm
 * (ITU-T I.371). `limit` 0 to 10^9 and at most 10^6 per second, `window` 1 ms to 366 days, `burst` 1 to 10^9.
 *
 * Admits at most `burst + limit * t / window` in any time t. With the default `burst` that is nearly twice `limit` in a first
 * window: 9 in a minute for `{ limit: 5, window: "1m" }`. With `burst: 1` it is never more than `limit` in any window. A limiter that uses an invalid limit throws `HEADGATE_INVALID_LIMIT`.
 */
export function gcra<const Text extends string = string>(
  options: WithoutPer<GcraLimit<never>> & CheckedWindow<Text>,
): GcraLimit<never>;
export function gcra<const Per extends string, const Text extends string = string>(
  options: WithPer<GcraLimit<Per>> & CheckedWindow<Text>,
): GcraLimit<Per>;
export function gcra<const Text extends string = string>(
  options: Omit<GcraLimit, "algorithm"> & CheckedWindow<Text>,
): GcraLimit;
export function gcra(options: Omit<GcraLimit, "algorithm">): GcraLimit {
  return { algorithm: "gcra", ...options };
}

/**
 * GCRA uses the arithmetic of the token bucket: the theoretical arrival time is ahead of now by the time that the debt takes to
 * drain.
 */
export function compileGcra(limit: GcraLimit): CompiledAlgorithm {
  requireKnownOptions(limit, ["limit", "window", "burst"]);
  const window = readWindow(limit, "window");
  const rate = readRate(limit, "limit", window, "window");
  const burst = limit.burst === undefined ? rate : readCount(limit, "burst");
  // A limit of 0 has no rate to drain at: units charged earlier drain one by one.
  const bucket = rate === 0 ? compileBucket(0, 1, window) : compileBucket(burst, rate, window);
  const shape = bucketShape(`gcra(${window})`, window);
  // Most limits have no burst of their own, so they pass a single number.
  const hasDefaultBurst = burst === rate && rate > 0;
  return {
    ...bucket,
    parameters: hasDefaultBurst ? [rate] : bucket.parameters,
    shape: hasDefaultBurst
      ? { ...shape, parameters: ["capacity"], aliases: { refill: "capacity" } }
      : shape,
    name: `${rate}-per-${formatDuration(window)}`,
    canonical: `gcra(${rate},${window},${burst})`,
  };
}
