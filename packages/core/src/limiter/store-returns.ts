import { forget } from "../store/forget.ts";
import type { Receipt } from "../store/refund.ts";
import { refund } from "../store/refund.ts";
import type { Remote, Step, Store } from "../store/store.ts";
import type { Unit } from "../store/unit.ts";
import { bySlot } from "./ask-store.ts";
import type { DenyCache } from "./deny-cache.ts";
import { rejectForeign } from "./read-reply.ts";
import type { StoreWatch } from "./store-watch.ts";

/** Gives units room again on servers. Each method resolves with whether there was anything to give, and rejects as the store does. */
export interface StoreReturns {
  refund(receipts: readonly Receipt[]): Promise<boolean>;
  forget(units: readonly Unit[]): Promise<boolean>;
}

/** Whoever is given room is asked for anew: what was known to be denied is not known any more, from before the call until after it. */
export function createStoreReturns(
  store: Store,
  remote: Remote,
  watch: StoreWatch,
  denials: DenyCache,
): StoreReturns {
  /** Runs a step once for each slot, in which all units of a call are; true if any of the replies says 1. */
  async function runInSlots<Call>(
    step: Step<Call>,
    calls: readonly { readonly call: Call; readonly units: readonly Unit[] }[],
  ): Promise<boolean> {
    const units = calls.flatMap((one) => one.units);
    denials.forget(units, store.now());
    try {
      const replies = calls.map(async ({ call, units: [first, ...others] }) => {
        if (first === undefined) return false;
        const reply = await watch.run(store, step, call, first.key);
        rejectForeign(reply, [first, ...others]);
        return reply[1] === 1;
      });
      return (await Promise.all(replies)).includes(true);
    } finally {
      denials.forget(units, store.now());
    }
  }

  return {
    refund: (receipts) =>
      runInSlots(
        refund,
        receipts.map((receipt) => ({ call: receipt, units: receipt.units })),
      ),
    forget: (units) =>
      runInSlots(
        forget,
        bySlot(units, remote).map((together) => ({ call: together, units: together })),
      ),
  };
}
