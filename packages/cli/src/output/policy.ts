import type { Limit } from "@headgate/core";
import type { FormatLimitOptions } from "@headgate/core/admin";
import { formatBreakerOptions, formatLimit } from "@headgate/core/admin";
import { formatDuration } from "./time.ts";

const SHORT_FORMAT: FormatLimitOptions = {
  formatDuration,
  formatWindow: formatDuration,
  defaultSuffix: "",
};

/** Formats a limit briefly: `100 per 1m (gcra)`, `login: 5 per 15m for each account, blocks for 1h (slidingLog)`. */
export function formatShortLimit(limit: Limit): string {
  return formatLimit(limit, SHORT_FORMAT);
}

/** Formats the policy of a breaker briefly: `opens below 50 % success of at least 20 calls in 5m, for 30s; 5 trial calls`. */
export function formatShortBreaker(options: Readonly<Record<string, unknown>>): string {
  return formatBreakerOptions(options, SHORT_FORMAT);
}
