import { block } from "../../store/block-by-hand.ts";
import { forget } from "../../store/forget.ts";
import { judge } from "../../store/judge.ts";
import { receiptOf, refund } from "../../store/refund.ts";
import type { Remote, Store } from "../../store/store.ts";
import type { DenyCache } from "../deny-cache.ts";
import { bySlot } from "../slots/by-slot.ts";
import type { StoreReturns, StoreWatch } from "./outage.ts";
import type { SlotCall } from "./slot-calls.ts";
import { runTogether } from "./slot-calls.ts";

/** Whoever is given room, or may be blocked, is asked for anew: what was known to be denied is not known any more, from before the call until after it. */
export function createStoreReturns(
  store: Store,
  remote: Remote,
  watch: StoreWatch,
  denials: DenyCache,
): StoreReturns {
  /** Does each, once for each slot; true if any of the replies says 1. */
  async function runInSlots<Call>(returns: readonly SlotCall<Call>[]): Promise<boolean> {
    const counters = returns.flatMap((one) => one.counters);
    denials.forget(counters, store.now());
    try {
      const replies = returns.flatMap((one) =>
        bySlot(one.counters, remote).map((together) =>
          runTogether(store, remote, watch, { ...one, counters: together }),
        ),
      );
      return (await Promise.all(replies)).some((reply) => reply[1] === 1);
    } finally {
      denials.forget(counters, store.now());
    }
  }

  return {
    refund: (receipts) =>
      runInSlots(
        receipts.map((receipt) => ({
          step: refund,
          counters: receipt.counters,
          callOf: (counters) => receiptOf(receipt, counters),
        })),
      ),
    judge: (judgements) =>
      runInSlots(
        judgements.map((one) => ({
          step: judge,
          counters: one.counters,
          callOf: (counters) => receiptOf(one, counters),
        })),
      ),
    forget: (counters) => runInSlots([{ step: forget, counters, callOf: (some) => some }]),
    block: (counters, span) =>
      runInSlots([{ step: block, counters, callOf: (some) => ({ counters: some, span }) }]),
  };
}
