import type { Limit } from "@headgate/core";
import { fixedWindow, gcra, slidingLog, slidingWindow, tokenBucket } from "@headgate/core";

export const MINUTE = 60_000_000n;
export const HOUR = 60n * MINUTE;

/** The start of an hour of the clock. */
export const START = 500_000n * HOUR;

/** A limit of `limit` units an hour, by each algorithm. */
export const ALGORITHMS: Record<string, (limit: number) => Limit> = {
  gcra: (limit) => gcra({ limit, window: "1h" }),
  tokenBucket: (limit) => tokenBucket({ capacity: limit, refill: limit, every: "1h" }),
  fixedWindow: (limit) => fixedWindow({ limit, window: "1h" }),
  "fixedWindow by the clock": (limit) => fixedWindow({ limit, window: "1h", align: "clock" }),
  slidingWindow: (limit) => slidingWindow({ limit, window: "1h" }),
  "slidingWindow in buckets": (limit) => slidingWindow({ limit, window: "1h", buckets: 6 }),
  slidingLog: (limit) => slidingLog({ limit, window: "1h" }),
};

/** After 500 units at once under a limit of ten: when the first unit is free, and when all are. */
export const RECOVERY_TIMES: Record<string, readonly [first: bigint, all: bigint]> = {
  // 491 of ten an hour, and 500.
  gcra: [(491n * HOUR) / 10n, 50n * HOUR],
  tokenBucket: [(491n * HOUR) / 10n, 50n * HOUR],
  fixedWindow: [HOUR, HOUR],
  "fixedWindow by the clock": [HOUR, HOUR],
  // Nine of 500 still count when 9/500 of the second hour are left.
  slidingWindow: [2n * HOUR - (9n * HOUR) / 500n, 2n * HOUR],
  "slidingWindow in buckets": [70n * MINUTE, 70n * MINUTE],
  slidingLog: [HOUR, HOUR],
};
