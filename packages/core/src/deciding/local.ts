import type { DecisionSource } from "../common/decision.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import { rejectWrongType } from "../counting/wrong-type.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { createLocalSlotStore } from "../slots/slot-store.ts";
import { stepFor } from "../store/decide.ts";
import type { CountingStore } from "../store/store.ts";
import { askPlaces, decisionOf, readAnswer } from "./ask.ts";
import type { Link } from "./link.ts";
import { publishTold } from "./thresholds.ts";

/** The last link of a limiter in this process: decides on a store that always answers, synchronously if possible. */
export function decideLocally(
  counted: CountedPolicy,
  store: CountingStore = counted.store,
  source: DecisionSource = "store",
  owner: object = store.owner,
): Link {
  let keeping: SlotKeeper | undefined;

  return {
    decide(ask) {
      if (ask.counted.hasPlaces) {
        keeping ??= createLocalSlotStore(store, counted.reported, owner);
        askPlaces(ask, keeping);
      }
      const step = stepFor(ask.mode);
      if (store.runNow !== undefined) {
        return decisionOf(ask, readAnswer(ask, store.runNow(step, ask)), source);
      }
      return store.run(step, ask).then((reply) => decisionOf(ask, readAnswer(ask, reply), source));
    },

    async change({ step, counters, callOf, toldAt }) {
      try {
        const reply = await store.run(step, callOf(counters));
        rejectWrongType(reply, counters);
        if (toldAt !== undefined) publishTold(counted, counters, reply, toldAt);
        return [{ counters, reply }];
      } catch (error) {
        return [{ counters, error }];
      }
    },

    async close() {},
  };
}
