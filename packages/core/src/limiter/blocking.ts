import { formatNumber } from "../base/errors.ts";
import { rejectMore } from "../base/options.ts";
import { parseDuration } from "../base/time.ts";
import { namedCountersOf, unitsOnly } from "../counting/counters.ts";
import { blockCounters, forgetCounters } from "../deciding/changes.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";

/** How a subject is blocked by hand, unblocked and forgotten. */
export function createBlocking({
  counted,
  chain,
  fallback,
}: LimiterCore): Pick<Limiter, "block" | "unblock" | "reset"> {
  return {
    async block(subject, duration, more?: unknown) {
      rejectMore("block(subject, duration)", more);
      const span = parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber);
      await blockCounters(chain, namedCountersOf(counted, subject), span);
    },

    async unblock(subject, more?: unknown) {
      rejectMore("unblock(subject)", more);
      return blockCounters(chain, namedCountersOf(counted, subject), 0);
    },

    async reset(subject, more?: unknown) {
      rejectMore("reset(subject)", more);
      const counters = unitsOnly(namedCountersOf(counted, subject));
      if (counters.length === 0) return false;
      const here = fallback && (await forgetCounters(fallback, counters.map(fallback.shareOf)));
      return (await forgetCounters(chain, counters)) || here === true;
    },
  };
}
