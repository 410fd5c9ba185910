import type { Decision, DecisionSource } from "../decision.ts";
import type { DecideCall } from "../store/decide.ts";
import { decide } from "../store/decide.ts";
import { forget } from "../store/forget.ts";
import type { Receipt } from "../store/refund.ts";
import { refund } from "../store/refund.ts";
import type { Store } from "../store/store.ts";
import type { Unit } from "../store/unit.ts";
import { CountedDecision, takeReceipts } from "./counted-decision.ts";
import type { Counters } from "./counters.ts";
import type { Decider } from "./decider.ts";
import { present, readReply, rejectForeign } from "./read-reply.ts";
import type { GroupUnit } from "./units.ts";

const NOTHING: readonly Receipt[] = [];

/** Decides in this process, which always answers. */
export function createMemoryDecider(counters: Counters): Decider {
  const { store } = counters;
  return {
    watch: undefined,

    decide: (units, cost, charge) => decideOn(store, counters, units, cost, charge, "store"),

    async giveBack(decision) {
      return giveBackOn(store, takeReceipts(decision, counters));
    },

    forget: (units) => forgetOn(store, units),

    async close() {},
  };
}

/** Asks a store of this process; at once where it can. */
export function decideOn(
  store: Store,
  counters: Counters,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
  source: DecisionSource,
): Promise<Decision> {
  const call: DecideCall = { cost, mode: charge ? "charge" : "peek", units };
  if (store.runNow === undefined) {
    return store
      .run(decide, call)
      .then((reply) => readDecision(counters, units, cost, charge, source, reply));
  }
  const reply = store.runNow(decide, call);
  return Promise.resolve(readDecision(counters, units, cost, charge, source, reply));
}

function readDecision(
  counters: Counters,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
  source: DecisionSource,
  reply: readonly number[],
): Decision {
  const { allowed, receipt, states } = readReply(counters, units, cost, reply);
  const receipts = allowed && charge ? [receipt] : NOTHING;
  return new CountedDecision(counters, {
    allowed,
    limits: present(states),
    cost,
    source,
    receipts,
  });
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
