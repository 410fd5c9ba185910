import type { Duration } from "@headgate/core";
import {
  invalidValue,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";

/** Options of `exponentialBackoff`. */
export interface ExponentialBackoffOptions {
  /** How long the breaker stays open the first time in a row. */
  readonly first: Duration;
  /** The factor for each further time in a row: above 1. Default 2. */
  readonly factor?: number | undefined;
  /** The longest that the breaker stays open. */
  readonly longest: Duration;
}

/**
 * Returns a function for the option `openFor`: the breaker stays open longer each time that it opens without closing in between,
 * for `first`, then `first · factor`, and so on, up to `longest`. Throws `HEADGATE_INVALID_OPTION`.
 */
export function exponentialBackoff(options: ExponentialBackoffOptions): (opened: number) => number {
  rejectUnknownOptions("exponentialBackoff", options, ["first", "factor", "longest"]);
  const { factor = 2 } = options;
  const first = toMilliseconds(parseDuration(options.first, "first", "HEADGATE_INVALID_OPTION"));
  const longest = toMilliseconds(
    parseDuration(options.longest, "longest", "HEADGATE_INVALID_OPTION"),
  );
  if (typeof factor !== "number" || !(factor > 1)) {
    throw invalidValue("exponentialBackoff: factor must be above 1", factor);
  }
  if (longest < first) {
    throw invalidValue("exponentialBackoff: longest must not be less than first", options.longest);
  }
  return (opened) => Math.min(longest, Math.round(first * factor ** (opened - 1)));
}
