import { formatReceived } from "../common/errors.ts";
import type { Limit } from "../common/policy.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { recoveryTimeOf } from "./algorithm.ts";
import { rejectLimit } from "./read-limit.ts";

/* The shares of a limit that are reported when they are used: by thresholds.lua and its twin, operations/notify-thresholds.ts. */

/** The most thresholds of a limit, for which the rule in thresholds.lua has room. */
export const MAX_THRESHOLDS = 8;

/**
 * A limit with its option `notifyAt`. The option changes the scripts, but not the counters: a limit with it and one without it
 * share theirs. Throws `HEADGATE_INVALID_LIMIT`.
 */
export function withThresholds(limit: Limit, compiled: CompiledLimit): CompiledLimit {
  if (limit.algorithm === "concurrency" || limit.notifyAt === undefined) return compiled;
  const shares = readShares(limit, limit.notifyAt);
  const units =
    compiled.limit === 0 ? [] : shares.map((share) => unitsOfShare(share, compiled.limit));
  return {
    ...compiled,
    notify: { shares, units, repeatAfter: recoveryTimeOf(limit, compiled) },
    shape: { ...compiled.shape, notifies: true },
    canonical: `${compiled.canonical}notify(${shares})`,
  };
}

/** The units of a share, rounded up. A little less, for shares such as 0.07 that a double cannot hold. */
function unitsOfShare(share: number, limit: number): number {
  return Math.ceil(share * limit * (1 - 2 ** -50));
}

function readShares(limit: Limit, shares: unknown): readonly number[] {
  if (!Array.isArray(shares) || shares.length < 1 || shares.length > MAX_THRESHOLDS) {
    rejectLimit(
      limit,
      `notifyAt must be a list of 1 to ${MAX_THRESHOLDS} shares of the limit, got ${formatReceived(shares)}`,
    );
  }
  // By index, so that a hole in the list is an error too.
  return Array.from({ length: shares.length }, (_, i) => {
    const share: unknown = shares[i];
    if (typeof share !== "number" || !(share > 0 && share <= 1)) {
      rejectLimit(
        limit,
        `notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got ${formatReceived(share)}`,
      );
    }
    if (i > 0 && share <= (shares[i - 1] as number)) {
      rejectLimit(limit, `notifyAt must ascend, got ${share} after ${shares[i - 1]}`);
    }
    return share;
  });
}
