import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../channels.ts";
import type { Decision } from "../decision.ts";
import type { HeadgateError } from "../errors.ts";
import type { Remote } from "../store/store.ts";
import { askStore } from "./ask-store.ts";
import { CountedDecision, returnReceipts, takeReceipts } from "./counted-decision.ts";
import type { Counters } from "./counters.ts";
import type { Decider } from "./decider.ts";
import { denyCacheOf } from "./deny-cache.ts";
import type { FailurePolicy } from "./failure-options.ts";
import { storeFailure } from "./store-failure.ts";
import { createStoreReturns } from "./store-returns.ts";
import { watchStore } from "./store-watch.ts";
import type { GroupUnit } from "./units.ts";
import { prepareWithoutStore } from "./without-store.ts";

/** Published on `headgate:decision:degraded`. */
export interface DegradedDecision {
  /** The limiter's name. */
  readonly limiter: string;
  readonly decision: Decision;
  /** Why the store did not decide, known by its `code`. */
  readonly reason: HeadgateError;
}

const degradedDecisions = channel(CHANNELS.degraded);

/**
 * Decides on servers, which may be away: what is known to be denied from the deny cache, the rest in the store, and what
 * the store did not decide in time as the failure policy says.
 */
export function createRemoteDecider(
  name: string,
  counters: Counters,
  remote: Remote,
  failure: FailurePolicy,
): Decider {
  const { store } = counters;
  const watch = watchStore(store.owner, remote, failure.timeoutMs);
  const release = watch.use();
  const denials = denyCacheOf(store.owner);
  const withoutStore = prepareWithoutStore(counters, failure);
  const returns = createStoreReturns(store, remote, watch, denials);
  const asked = { counters, watch, remote, giveBack: returns.refund };

  async function askAndRemember(
    units: readonly GroupUnit[],
    cost: number,
    charge: boolean,
    sent: number,
  ): Promise<Decision> {
    const answer = await askStore(asked, units, cost, charge);
    const { allowed, limits, receipts } = answer;
    if (allowed && charge) denials.forgetKnown(units, store.now());
    if (failure.denyCache && answer.lasting.length > 0) {
      denials.remember(answer.lasting, cost, sent, store.now());
    }
    return new CountedDecision(counters, { allowed, limits, cost, source: "store", receipts });
  }

  async function decideWithout(
    error: unknown,
    units: readonly GroupUnit[],
    cost: number,
    charge: boolean,
  ): Promise<Decision> {
    const reason = storeFailure(error, watch.notices);
    const decision = await withoutStore.decide(units, cost, charge);
    if (degradedDecisions.hasSubscribers) {
      degradedDecisions.publish({
        limiter: name,
        decision,
        reason,
      } satisfies DegradedDecision);
    }
    return decision;
  }

  return {
    watch,

    async decide(units, cost, charge) {
      const now = store.now();
      const known = charge && failure.denyCache ? denials.find(units, cost, now) : undefined;
      if (known !== undefined) {
        return new CountedDecision(counters, {
          allowed: false,
          limits: known,
          cost,
          source: "deny-cache",
          receipts: [],
        });
      }
      try {
        return await askAndRemember(units, cost, charge, now);
      } catch (error) {
        return decideWithout(error, units, cost, charge);
      }
    },

    async giveBack(decision) {
      const receipts = takeReceipts(decision, counters);
      if (decision.source === "local") return withoutStore.giveBack(receipts);
      const down = receipts
        .flatMap((receipt) => receipt.units)
        .map(({ key }) => watch.downReason(key))
        .find((reason) => reason !== undefined);
      if (down !== undefined) {
        // Nothing was done, so it can be asked for again.
        returnReceipts(decision);
        throw down;
      }
      return returns.refund(receipts);
    },

    async forget(units) {
      const isForgottenHere = await withoutStore.forget(units);
      const isForgottenThere = await returns.forget(units);
      return isForgottenHere || isForgottenThere;
    },

    close: release,
  };
}
