import type { Charged } from "../../charged.ts";
import { joinCharged } from "../../charged.ts";
import type { Cost } from "../../cost.ts";
import { charge } from "../../store/charge.ts";
import type { Counter } from "../../store/counter.ts";
import { areByName } from "../../store/counter.ts";
import type { Remote, Store } from "../../store/store.ts";
import { readCharged } from "../costs.ts";
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
  async function chargeTogether(
    counters: readonly Counter[],
    cost: number,
  ): Promise<Charged<Cost>> {
    const callOf = (some: readonly Counter[]) => ({ cost, counters: some });
    const reply = await runTogether(store, remote, watch, { step: charge, counters, callOf });
    return readCharged(counters, cost, reply);
  }

  /** A reply by name is of one counter's limits: where slots are found out late, there is no other to tell it from. */
  function inCalls<C extends Counter>(counters: readonly C[]): readonly (readonly C[])[] {
    return areByName(counters) ? counters.map((one) => [one]) : bySlot(counters, remote);
  }

  return {
    async charge(counters, cost, otherwise) {
      denials.forget(counters, store.now());
      try {
        const charged = inCalls(counters).map((together) =>
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
