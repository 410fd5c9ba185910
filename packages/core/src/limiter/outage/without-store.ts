import { NOTHING_CHARGED, nothingCharged } from "../../charged.ts";
import { clientPart } from "../../client-state.ts";
import { areByName } from "../../store/counter.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { CountedDecision, outcomeOn } from "../counted-decision.ts";
import type { CountedPolicy } from "../counted-policy.ts";
import { chargeOn, decideOn, forgetOn, giveBackOn, settleOn } from "../memory-decider.ts";
import { keepPlacesHere } from "../places/keep-places.ts";
import { shareLimits } from "./local-limits.ts";
import type { FailurePolicy, WithoutStore } from "./outage.ts";

/** How long a denial by `onUnavailable: "deny"` lasts: a store that answers again is noticed within a second. */
const DENY_RETRY_MS = 1_000;

/** Limiters that share a budget on the store share it here. */
const localCountsOf = clientPart("localCounts", () => memoryStore());

/**
 * Prepares for the time when the store cannot decide. What is counted in this process meanwhile stays until it is as if
 * unused, so that an outage which comes and goes gives nobody a new budget each time; nothing is written back.
 */
export function prepareWithoutStore(counted: CountedPolicy, failure: FailurePolicy): WithoutStore {
  const { onUnavailable } = failure;
  const local = localCountsOf(counted.store.owner);
  const keeping = counted.hasPlaces
    ? keepPlacesHere(local, counted.reported, counted.store.owner)
    : undefined;
  const shareOf = shareLimits(failure.localShare);

  return {
    async decide(counters, cost, mode) {
      if (onUnavailable === "local") {
        // What this process counts alone is no ground to block anybody.
        const here = mode === "enforce" ? "charge" : mode;
        return decideOn(local, counted, counters.map(shareOf), cost, here, "local", keeping);
      }
      const outcome = {
        allowed: onUnavailable === "allow",
        limits: [],
        cost,
        source: onUnavailable,
        receipts: [],
        retryAfterMs: DENY_RETRY_MS,
      };
      return new CountedDecision(counted, outcomeOn(counters, outcome));
    },
    giveBack: (receipts) => giveBackOn(local, receipts),

    async charge(counters, cost) {
      if (onUnavailable === "local") {
        const charged = await chargeOn(local, counters.map(shareOf), cost);
        return { ...charged, degraded: true };
      }
      const limits = counters.flatMap((counter) => counter.limits);
      const nothing = areByName(counters) ? nothingCharged(limits) : NOTHING_CHARGED;
      return { ...nothing, degraded: true };
    },

    async settle(receipts, units) {
      const settled = await settleOn(local, counted, receipts, units, counted.shadow);
      return { ...settled, degraded: receipts.length > 0 };
    },

    forget: (counters) => forgetOn(local, counters.map(shareOf)),
  };
}
