import { channel } from "node:diagnostics_channel";
import type { Decision } from "../common/decision.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import { toStoreFailure } from "../health/store-failure.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { Counter } from "../operations/counter.ts";
import { operationFor } from "../operations/decide.ts";
import { slotsOperation } from "../operations/slots.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { slotCountersOf } from "../policy/counters.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { createSlotKeeper } from "../slots/slot-keeper.ts";
import type { ScriptTransport } from "../store/store.ts";
import type { CrossSlotDeps, LateReply } from "./cross-slot.ts";
import { CrossSlotDecision, groupByHashSlot, regroupByHashSlot } from "./cross-slot.ts";
import { attachSlots } from "./decision-request.ts";
import { decodeReply, decodeStoreDecision, toDecision } from "./decode-reply.ts";
import type { CallsInProgress, InFlight } from "./in-flight.ts";
import { endCall } from "./in-flight.ts";
import { refundMutation } from "./mutations.ts";
import type {
  DecisionRequest,
  DegradedDecision,
  Mutation,
  MutationResult,
  Stage,
  StoreDecision,
} from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

const degradedDecisions = channel(CHANNELS.degraded);

/** The dependencies of the redis stage. */
export interface RedisStageDeps {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  readonly transport: ScriptTransport;
}

/** The last stage of a limiter on Redis: decides with one script call, and with `fallback` if Redis does not answer in time. */
export function createRedisStage(deps: RedisStageDeps, fallback: Stage, inFlight: InFlight): Stage {
  const { policy, monitor } = deps;
  const { store } = policy;
  const crossSlotDeps = crossSlotDepsOf(deps);
  let slotKeeper: SlotKeeper | undefined;

  function createKeeper(): SlotKeeper {
    return createSlotKeeper(
      store,
      (call, key) => monitor.run(store, slotsOperation, call, key),
      policy.labels,
    );
  }

  /** Decides with the fallback after a failure of the store; rejects with every other error. */
  async function decideWithFallback(
    request: DecisionRequest,
    calls: CallsInProgress,
    error: unknown,
  ): Promise<Decision> {
    endCall(calls);
    const reason = toStoreFailure(error, monitor.log);
    const decision = await fallback.decide(request);
    if (degradedDecisions.hasSubscribers) {
      const { limiter } = policy.labels;
      publish(degradedDecisions, { limiter, decision, reason } satisfies DegradedDecision);
    }
    return decision;
  }

  return {
    decide(request) {
      if (request.policy.hasSlots) {
        slotKeeper ??= createKeeper();
        attachSlots(request, slotKeeper);
      }
      const calls = inFlight.current;
      calls.count += 1;
      if (request.counters.length > 1) {
        return decideByHashSlot(crossSlotDeps, request).then(
          (storeDecision) => {
            endCall(calls);
            request.onDecision?.(request, storeDecision);
            return toDecision(request, storeDecision, "store");
          },
          (error) => decideWithFallback(request, calls, error),
        );
      }
      return decideInOneCall(crossSlotDeps, request).then(
        (reply) => {
          let storeDecision: StoreDecision;
          try {
            storeDecision = decodeStoreDecision(request, reply);
          } catch (error) {
            return decideWithFallback(request, calls, error);
          }
          endCall(calls);
          request.onDecision?.(request, storeDecision);
          return toDecision(request, storeDecision, "store");
        },
        (error) => decideWithFallback(request, calls, error),
      );
    },

    mutate: (mutation) => mutateOnServers(deps, mutation),

    async close() {},
  };
}

/** Resolves with the store's reply to a request whose counters fit in one call. */
function decideInOneCall(
  { policy, monitor, onLateReply }: CrossSlotDeps,
  request: DecisionRequest,
): Promise<readonly number[]> {
  const { key } = request.counters[0] as SubjectCounter;
  let needsLateReply = request.slots !== undefined;
  for (const { notifyingLimits } of request.counters) needsLateReply ||= notifyingLimits.length > 0;
  const onLate = needsLateReply ? (reply: LateReply) => onLateReply(request, reply) : undefined;
  return monitor.run(
    policy.store,
    operationFor(request.mode),
    request,
    key,
    request.usedTimeoutMs,
    onLate,
  );
}

/** Decides on counters that may be in several hash slots. Rejects with the store's error. */
export function decideByHashSlot(
  deps: CrossSlotDeps,
  request: DecisionRequest,
): Promise<StoreDecision> {
  const { monitor, transport } = deps;
  const { counters, usedTimeoutMs } = request;
  const withinMs = monitor.timeoutMs - usedTimeoutMs;
  const hashSlots = groupByHashSlot(counters, transport);
  if (hashSlots.length > 1) return new CrossSlotDecision(deps, hashSlots, request).decide(withinMs);
  const sentAt = monitor.now();
  return decideInOneCall(deps, request)
    .then((reply) => decodeStoreDecision(request, reply))
    .catch((error: unknown) => {
      // The refused call did nothing, so each hash slot gets a call of its own in the time that is left.
      const regrouped = regroupByHashSlot(error, counters, transport);
      if (regrouped === undefined) throw error;
      const leftMs = withinMs - (monitor.now() - sentAt);
      return new CrossSlotDecision(deps, regrouped, request).decide(leftMs);
    });
}

/** The dependencies of cross-slot decisions: how they undo charges and handle late replies. */
export function crossSlotDepsOf(deps: RedisStageDeps): CrossSlotDeps {
  const { policy } = deps;

  function releaseSlots(counters: readonly SubjectCounter[], holder: string): void {
    // Bypasses the monitor, which knows that the late server is down. Slots that are not released expire.
    for (const counter of slotCountersOf(counters)) {
      policy.store
        .run(slotsOperation, { counters: [counter], holders: [holder], renews: false })
        .catch(() => {});
    }
  }

  return {
    ...deps,
    refund: (receipt) => mutateOnServers(deps, refundMutation(receipt)),
    onLateReply({ counters, holder, cost }, reply) {
      const subjectCounters = counters as readonly SubjectCounter[];
      if (holder !== undefined) releaseSlots(subjectCounters, holder);
      // The units are charged already; decoding publishes the thresholds in the reply.
      if (reply !== undefined) decodeReply(policy, subjectCounters, cost, reply);
    },
  };
}

/** Carries out a mutation in all hash slots concurrently. */
async function mutateOnServers<Call>(
  { policy, monitor, transport }: RedisStageDeps,
  { operation, counters, callOf, thresholdsAt }: Mutation<Call>,
): Promise<readonly MutationResult[]> {
  async function mutateInOneCall(
    group: readonly Counter[],
    usedTimeoutMs: number,
  ): Promise<readonly MutationResult[]> {
    const sentAt = monitor.now();
    const reportThresholds =
      thresholdsAt === undefined
        ? undefined
        : (reply: LateReply) => reply && publishThresholds(policy, group, reply, thresholdsAt);
    try {
      const { key } = group[0] as Counter;
      const reply = await monitor.run(
        policy.store,
        operation,
        callOf(group),
        key,
        usedTimeoutMs,
        reportThresholds,
      );
      rejectWrongType(reply, group);
      reportThresholds?.(reply);
      return [{ counters: group, reply }];
    } catch (error) {
      const regrouped = regroupByHashSlot(error, group, transport);
      if (regrouped === undefined) return [{ counters: group, error }];
      return mutateEachHashSlot(regrouped, usedTimeoutMs + monitor.now() - sentAt);
    }
  }

  async function mutateEachHashSlot(
    hashSlots: readonly (readonly Counter[])[],
    usedTimeoutMs: number,
  ): Promise<readonly MutationResult[]> {
    return (
      await Promise.all(hashSlots.map((group) => mutateInOneCall(group, usedTimeoutMs)))
    ).flat();
  }

  return mutateEachHashSlot(groupByHashSlot(counters, transport), 0);
}
