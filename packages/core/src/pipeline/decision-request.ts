import type { DecideMode } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { includedCounters } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { prepareSlots } from "../slots/slot-keeper.ts";
import type { DecisionRequest } from "./stage.ts";

/** Creates the request that travels through the stages. A cost of 0 is never charged and never sets a block. */
export function createDecisionRequest(
  policy: CompiledPolicy,
  counters: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  usedTimeoutMs = 0,
): DecisionRequest {
  const hasCostByName = counters[0]?.costs !== undefined;
  return {
    policy,
    counters: hasCostByName ? includedCounters(counters) : counters,
    allCounters: hasCostByName ? counters : undefined,
    cost,
    mode: cost === 0 && mode !== "peek" ? "inspect" : mode,
    usedTimeoutMs,
    slots: undefined,
    holder: undefined,
    sentAt: 0,
    onDecision: undefined,
  };
}

/** Gives a request that will be charged the slots of its concurrency limits; they become held when it is admitted. */
export function attachSlots(request: DecisionRequest, slotKeeper: SlotKeeper): void {
  if (!isCharging(request.mode)) return;
  request.slots = prepareSlots(slotKeeper, request.counters);
  request.holder = request.slots?.holder;
}
