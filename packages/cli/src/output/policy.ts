import type { Limit } from "@headgate/core";
import type { Wording } from "@headgate/core/operate";
import { breakerInWords, limitInWords } from "@headgate/core/operate";
import { formatDuration } from "./time.ts";

const SHORT: Wording = { formatDuration, formatPer: formatDuration, forEach: "" };

/** A limit in short: `100 per 1m (gcra)`, `login: 5 per 15m for each account, blocks for 1h (slidingLog)`. */
export function formatLimit(limit: Limit): string {
  return limitInWords(limit, SHORT);
}

/** A breaker's policy in short: `opens below 50 % success of at least 20 calls in 5m, for 30s; 5 trial calls`. */
export function formatBreaker(options: Readonly<Record<string, unknown>>): string {
  return breakerInWords(options, SHORT);
}
