import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import {
  formatReceived,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";

export interface ExponentialBackoffOptions {
  /** For how long it opens the first time in a row. */
  readonly first: Duration;
  /** How many times longer it opens each time after: above 1. Default 2. */
  readonly factor?: number | undefined;
  /** The longest it opens for. */
  readonly longest: Duration;
}

/**
 * For how long a breaker opens, the oftener it did so without closing in between: `first`, `first · factor`, ... `longest`.
 * Throws `HEADGATE_INVALID_OPTION`.
 */
export function exponentialBackoff(options: ExponentialBackoffOptions): (opened: number) => number {
  rejectUnknownOptions("exponentialBackoff", options, ["first", "factor", "longest"]);
  const { factor = 2 } = options;
  const first = toMilliseconds(parseDuration(options.first, "first", "HEADGATE_INVALID_OPTION"));
  const longest = toMilliseconds(
    parseDuration(options.longest, "longest", "HEADGATE_INVALID_OPTION"),
  );
  if (typeof factor !== "number" || !(factor > 1)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `exponentialBackoff: factor must be above 1, got ${formatReceived(factor)}`,
    );
  }
  if (longest < first) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `exponentialBackoff: longest must not be less than first, got ${formatReceived(options.longest)}`,
    );
  }
  return (opened) => Math.min(longest, Math.round(first * factor ** (opened - 1)));
}
