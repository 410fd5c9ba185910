import type { DecisionSource } from "../common/decision.ts";
import { operationFor } from "../operations/decide.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { createLocalSlotKeeper } from "../slots/slot-keeper.ts";
import type { CountingStore } from "../store/store.ts";
import { attachSlots } from "./decision-request.ts";
import { decodeStoreDecision, toDecision } from "./decode-reply.ts";
import type { Stage } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

/**
 * The last stage for counters in this process, which always answer: decides synchronously if the store can. `source` is the source
 * of its decisions, and `owner` the owner of the counters for calls that wait for a released slot.
 */
export function createMemoryStage(
  policy: CompiledPolicy,
  store: CountingStore = policy.store,
  source: DecisionSource = "store",
  owner: object = store.owner,
): Stage {
  let slotKeeper: SlotKeeper | undefined;

  return {
    decide(request) {
      if (request.policy.hasSlots) {
        slotKeeper ??= createLocalSlotKeeper(store, policy.labels, owner);
        attachSlots(request, slotKeeper);
      }
      const operation = operationFor(request.mode);
      if (store.runSync !== undefined) {
        return toDecision(
          request,
          decodeStoreDecision(request, store.runSync(operation, request)),
          source,
        );
      }
      return store
        .run(operation, request)
        .then((reply) => toDecision(request, decodeStoreDecision(request, reply), source));
    },

    async mutate({ operation, counters, callOf, thresholdsAt }) {
      try {
        const reply = await store.run(operation, callOf(counters));
        rejectWrongType(reply, counters);
        if (thresholdsAt !== undefined) publishThresholds(policy, counters, reply, thresholdsAt);
        return [{ counters, reply }];
      } catch (error) {
        return [{ counters, error }];
      }
    },

    async close() {},
  };
}
