import type { Limit } from "@headgate/core";
import type { FormatLimitOptions } from "@headgate/core/admin";
import { formatBreakerOptions, formatLimit } from "@headgate/core/admin";
import { formatDuration, formatPer } from "./time.ts";

const LONG_WORDING: FormatLimitOptions = {
  formatDuration,
  formatWindow: formatPer,
  defaultSuffix: " for each client",
};

/** A limit as text: `login: 5 per 15 minutes for each account, blocks for 1 hour (slidingLog)`. */
export function describeLimit(limit: Limit): string {
  return formatLimit(limit, LONG_WORDING);
}

/** The numbers of a limit that an override may replace. */
export function overridableNumbers(limit: Limit): Readonly<Record<string, number>> {
  if (limit.algorithm === "tokenBucket") return { capacity: limit.capacity, refill: limit.refill };
  if (limit.algorithm !== "gcra") return { limit: limit.limit };
  return limit.burst === undefined
    ? { limit: limit.limit }
    : { limit: limit.limit, burst: limit.burst };
}

/** A breaker's policy as text: `opens below 50 % success of at least 20 calls in 5 minutes, for 30 seconds; 5 trial calls`. */
export function describeBreaker(options: Readonly<Record<string, unknown>>): string {
  return formatBreakerOptions(options, LONG_WORDING);
}
