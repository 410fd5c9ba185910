import { decide } from "../store/decide.ts";
import { forget } from "../store/forget.ts";
import type { Receipt } from "../store/refund.ts";
import { refund } from "../store/refund.ts";
import type { Store } from "../store/store.ts";
import type { Unit } from "../store/unit.ts";
import type { Answer } from "./ask-store.ts";
import { CountedDecision, takeReceipts } from "./counted-decision.ts";
import type { Counters } from "./counters.ts";
import type { Decider } from "./decider.ts";
import { present, readReply, rejectForeign } from "./read-reply.ts";
import type { GroupUnit } from "./units.ts";

/** Decides in this process, which always answers. */
export function createMemoryDecider(counters: Counters): Decider {
  const { store } = counters;
  return {
    watch: undefined,

    async decide(units, cost, charge) {
      const { allowed, limits, receipts } = await decideOn(store, counters, units, cost, charge);
      return new CountedDecision(counters, { allowed, limits, cost, source: "store", receipts });
    },

    async giveBack(decision) {
      return giveBackOn(store, takeReceipts(decision, counters));
    },

    forget: (units) => forgetOn(store, units),

    close() {},
  };
}

/** Asks a store of this process. */
export async function decideOn(
  store: Store,
  counters: Counters,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
): Promise<Omit<Answer, "lasting">> {
  const mode = charge ? "charge" : "peek";
  const reply = await store.run(decide, { cost, mode, units });
  const { allowed, receipt, states } = readReply(counters, units, cost, reply);
  return { allowed, limits: present(states), receipts: allowed && charge ? [receipt] : [] };
}

/** Gives back on a store of this process; true if something was. */
export async function giveBackOn(store: Store, receipts: readonly Receipt[]): Promise<boolean> {
  let isGiven = false;
  for (const receipt of receipts) {
    const reply = await store.run(refund, receipt);
    rejectForeign(reply, receipt.units);
    isGiven ||= reply[1] === 1;
  }
  return isGiven;
}

/** Forgets on a store of this process; true if there was anything. */
export async function forgetOn(store: Store, units: readonly Unit[]): Promise<boolean> {
  const reply = await store.run(forget, units);
  return reply[1] === 1;
}
