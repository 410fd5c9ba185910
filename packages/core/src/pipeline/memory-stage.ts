import type { Decision, DecisionSource } from "../common/decision.ts";
import { operationFor } from "../operations/decide.ts";
import type { DecideCall, StoreDecision } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import { slotsOperation } from "../operations/slots.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { HeldSlots, SlotKeeper } from "../slots/held-slots.ts";
import { createSlotKeeper, prepareSlots, refundsOf } from "../slots/held-slots.ts";
import type { CountingStore } from "../store/store.ts";
import type { DecisionRequest } from "./decision-request.ts";
import { toDecision } from "./decision-request.ts";
import type { Stage } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

/**
 * The last stage for counters in this process, which always answer: decides synchronously if the store can. `source` is the source
 * of its decisions, and `owner` the owner of the counters for calls that wait for slots or units.
 */
export function createMemoryStage(
  policy: CompiledPolicy,
  store: CountingStore = policy.store,
  source: DecisionSource = "store",
  owner: object = store.owner,
): Stage {
  let slotKeeper: SlotKeeper | undefined;

  function slotsFor({ mode, counters }: DecisionRequest): HeldSlots | undefined {
    if (!isCharging(mode)) return undefined;
    slotKeeper ??= createSlotKeeper(
      store,
      (slots) => store.run(slotsOperation, slots),
      policy.labels,
      owner,
    );
    return prepareSlots(slotKeeper, counters);
  }

  function complete(
    request: DecisionRequest,
    decision: StoreDecision,
    slots: HeldSlots | undefined,
  ): Decision {
    publishThresholds(request.policy, decision.thresholds);
    return toDecision(request, [decision], source, slots);
  }

  // Apart from `decide`, which would otherwise allocate what this function refers to with every call.
  async function decideLater(
    request: DecisionRequest,
    call: DecideCall,
    slots: HeldSlots | undefined,
  ): Promise<Decision> {
    return complete(
      request,
      await store.run(operationFor(request.mode, request.upTo), call),
      slots,
    );
  }

  return {
    decide(request) {
      const slots = request.policy.hasSlots ? slotsFor(request) : undefined;
      const call = slots === undefined ? request : { ...request, holder: slots.holder };
      return store.runSync === undefined
        ? decideLater(request, call, slots)
        : complete(request, store.runSync(operationFor(request.mode, request.upTo), call), slots);
    },

    async mutate({ operation, counters, callOf, thresholdsOf, givesRoom }) {
      try {
        const reply = await store.run(operation, callOf(counters));
        if (thresholdsOf !== undefined) publishThresholds(policy, thresholdsOf(reply));
        if (givesRoom === true) refundsOf(owner).notify(counters);
        return [{ counters, reply }];
      } catch (error) {
        return [{ counters, error }];
      }
    },

    async close() {},
  };
}
