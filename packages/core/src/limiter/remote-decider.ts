import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../channels.ts";
import type { Decision } from "../decision.ts";
import type { HeadgateError } from "../errors.ts";
import { codeOf } from "../errors.ts";
import { forget } from "../store/forget.ts";
import type { Receipt } from "../store/refund.ts";
import { refund } from "../store/refund.ts";
import type { Remote, Step } from "../store/store.ts";
import type { Unit } from "../store/unit.ts";
import { askStore, bySlot } from "./ask-store.ts";
import { CountedDecision, returnCharges, takeCharges } from "./counted-decision.ts";
import type { Counters, GroupUnit } from "./counters.ts";
import type { Decider } from "./decider.ts";
import { denyCacheOf } from "./deny-cache.ts";
import type { FailurePolicy } from "./failure-options.ts";
import { rejectForeign } from "./read-reply.ts";
import { watchStore } from "./store-watch.ts";
import { prepareWithoutStore } from "./without-store.ts";

/** Published on `headgate:decision:degraded`. */
export interface DegradedDecision {
  /** The limiter's name. */
  readonly limiter: string;
  readonly decision: Decision;
  /** Why the store did not decide, known by its `code`. */
  readonly reason: HeadgateError;
}

/** What a store says when it did not decide. All other errors are the caller's. */
const NOT_DECIDED: readonly string[] = [
  "HEADGATE_STORE_UNAVAILABLE",
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_SLOT_UNAVAILABLE",
  "HEADGATE_FOREIGN_KEY",
  "HEADGATE_BAD_REPLY",
];

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
  const asked = { counters, watch, remote, giveBack: giveBackInStore };

  async function askAndRemember(
    units: readonly GroupUnit[],
    cost: number,
    charge: boolean,
  ): Promise<Decision> {
    const sent = remote.now();
    const answer = await askStore(asked, units, cost, charge);
    const { allowed, limits, receipts } = answer;
    if (allowed && charge) denials.forgetKnown(units, remote.now());
    if (failure.denyCache && answer.lasting.length > 0) {
      denials.remember(answer.lasting, cost, sent, remote.now());
    }
    const charges = receipts.map((receipt) => ({ receipt, isLocal: false }));
    return new CountedDecision(counters, { allowed, limits, cost, source: "store", charges });
  }

  async function decideWithout(
    error: unknown,
    units: readonly GroupUnit[],
    cost: number,
    charge: boolean,
  ): Promise<Decision> {
    const code = codeOf(error);
    if (code === undefined || !NOT_DECIDED.includes(code)) throw error;
    const reason = error as HeadgateError;
    if (code !== "HEADGATE_STORE_UNAVAILABLE") watch.tellOnce(reason);
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

  /** Runs a step once for each slot; true if any of the replies says 1. */
  async function runInSlots<Call>(
    step: Step<Call>,
    calls: readonly { readonly call: Call; readonly units: readonly Unit[] }[],
  ): Promise<boolean> {
    const replies = await Promise.all(
      calls.map(async ({ call, units }) => {
        const reply = await watch.run(store, step, call, (units[0] as Unit).key);
        rejectForeign(reply, units);
        return reply[0] === 1;
      }),
    );
    return replies.includes(true);
  }

  async function giveBackInStore(receipts: readonly Receipt[]): Promise<boolean> {
    const units = receipts.flatMap((receipt) => receipt.units);
    denials.forget(units, remote.now());
    try {
      return await runInSlots(
        refund,
        receipts.map((receipt) => ({ call: receipt, units: receipt.units })),
      );
    } finally {
      denials.forget(units, remote.now());
    }
  }

  return {
    watch,

    async decide(units, cost, charge) {
      const known =
        charge && failure.denyCache ? denials.find(units, cost, remote.now()) : undefined;
      if (known !== undefined) {
        return new CountedDecision(counters, {
          allowed: false,
          limits: known,
          cost,
          source: "deny-cache",
          charges: [],
        });
      }
      try {
        return await askAndRemember(units, cost, charge);
      } catch (error) {
        return decideWithout(error, units, cost, charge);
      }
    },

    async giveBack(decision) {
      const charges = takeCharges(decision, counters);
      const receipts = (isLocal: boolean): Receipt[] =>
        charges.filter((charge) => charge.isLocal === isLocal).map(({ receipt }) => receipt);
      const remotely = receipts(false);
      const down = remotely
        .flatMap((receipt) => receipt.units)
        .map(({ key }) => watch.downReason(key))
        .find((reason) => reason !== undefined);
      if (down !== undefined) {
        // Nothing was done, so it can be asked for again.
        returnCharges(decision);
        throw down;
      }
      const isGivenHere = await withoutStore.giveBack(receipts(true));
      const isGivenThere = await giveBackInStore(remotely);
      return isGivenHere || isGivenThere;
    },

    async forget(units) {
      const isForgottenHere = await withoutStore.forget(units);
      denials.forget(units, remote.now());
      try {
        const slots = bySlot(units, remote);
        const isForgottenThere = await runInSlots(
          forget,
          slots.map((together) => ({ call: together, units: together })),
        );
        return isForgottenHere || isForgottenThere;
      } finally {
        denials.forget(units, remote.now());
      }
    },

    close: release,
  };
}
