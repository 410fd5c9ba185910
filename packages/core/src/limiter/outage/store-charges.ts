import type { Charged } from "../../charged.ts";
import { joinCharged } from "../../charged.ts";
import { charge } from "../../store/charge.ts";
import type { Counter } from "../../store/counter.ts";
import type { Remote, Store } from "../../store/store.ts";
import type { DenyCache } from "../deny-cache.ts";
import { bySlot } from "../slots/by-slot.ts";
import type { StoreCharges, StoreWatch } from "./outage.ts";
import { runTogether } from "./slot-calls.ts";
import { requireUnreached } from "./store-failure.ts";

/** Whoever is charged may have to wait for longer: what was known of its denials is forgotten, from before the call until after it. */
export function createStoreCharges(
  store: Store,
  remote: Remote,
  watch: StoreWatch,
  denials: DenyCache,
): StoreCharges {
  async function chargeTogether(counters: readonly Counter[], cost: number): Promise<Charged> {
    const callOf = (some: readonly Counter[]) => ({ cost, counters: some });
    const counted = await runTogether(store, remote, watch, { step: charge, counters, callOf });
    return { counted, cut: cost - counted, degraded: false };
  }

  return {
    async charge(counters, cost, otherwise) {
      denials.forget(counters, store.now());
      try {
        const charged = bySlot(counters, remote).map((together) =>
          chargeTogether(together, cost).catch((error: unknown) => {
            requireUnreached(error, watch.notices);
            return otherwise(together);
          }),
        );
        return joinCharged(await Promise.all(charged));
      } finally {
        denials.forget(counters, store.now());
      }
    },
  };
}
