import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../common/channels.ts";
import type { Decision } from "../common/decision.ts";
import { publish } from "../common/publish.ts";
import { toStoreFailure } from "../health/store-failure.ts";
import type { StoreMonitor } from "../health/store-health.ts";
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
import { attachSlots, decodeReply, decodeStoreDecision, toDecision } from "./decode-reply.ts";
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

/** The parts of the last link of a limiter on servers. */
export interface RedisStageDeps {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  readonly transport: ScriptTransport;
}

/** The last link of a limiter on servers: asks them, and uses `fallback` if they do not answer in time. */
export function createRedisStage(place: RedisStageDeps, fallback: Stage, flights: InFlight): Stage {
  const { policy, monitor } = place;
  const { store } = policy;
  const slots = crossSlotDepsOf(place);
  let keeping: SlotKeeper | undefined;

  function createKeeper(): SlotKeeper {
    return createSlotKeeper(
      store,
      (call, key) => monitor.run(store, slotsOperation, call, key),
      policy.labels,
    );
  }

  /** Rethrows errors other than a failure of the store. */
  async function decideWithFallback(
    request: DecisionRequest,
    flight: CallsInProgress,
    error: unknown,
  ): Promise<Decision> {
    endCall(flight);
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
        keeping ??= createKeeper();
        attachSlots(request, keeping);
      }
      const flight = flights.current;
      flight.count += 1;
      if (request.counters.length > 1) {
        return decideByHashSlot(slots, request).then(
          (answer) => {
            endCall(flight);
            request.onDecision?.(request, answer);
            return toDecision(request, answer, "store");
          },
          (error) => decideWithFallback(request, flight, error),
        );
      }
      return decideInOneCall(slots, request).then(
        (reply) => {
          let answer: StoreDecision;
          try {
            answer = decodeStoreDecision(request, reply);
          } catch (error) {
            return decideWithFallback(request, flight, error);
          }
          endCall(flight);
          request.onDecision?.(request, answer);
          return toDecision(request, answer, "store");
        },
        (error) => decideWithFallback(request, flight, error),
      );
    },

    mutate: (mutation) => mutateOnServers(place, mutation),

    async close() {},
  };
}

/** The store's reply about counters that fit in one call. */
function decideInOneCall(
  { policy, monitor, onLateReply }: CrossSlotDeps,
  request: DecisionRequest,
): Promise<readonly number[]> {
  const { key } = request.counters[0] as SubjectCounter;
  let needsLateReply = request.slots !== undefined;
  for (const { notifyingLimits } of request.counters) needsLateReply ||= notifyingLimits.length > 0;
  const late = needsLateReply ? (reply: LateReply) => onLateReply(request, reply) : undefined;
  return monitor.run(
    policy.store,
    operationFor(request.mode),
    request,
    key,
    request.waitedMs,
    late,
  );
}

/** The store's answer from all hash slots of the counters. Rejects with the store's error. */
export function decideByHashSlot(
  place: CrossSlotDeps,
  request: DecisionRequest,
): Promise<StoreDecision> {
  const { monitor, transport } = place;
  const { counters, waitedMs } = request;
  const withinMs = monitor.timeoutMs - waitedMs;
  const slots = groupByHashSlot(counters, transport);
  if (slots.length > 1) return new CrossSlotDecision(place, slots, request).decide(withinMs);
  const sent = monitor.now();
  return decideInOneCall(place, request)
    .then((reply) => decodeStoreDecision(request, reply))
    .catch((error: unknown) => {
      // Nothing was done. Ask the hash slots separately, in the time that is left.
      const found = regroupByHashSlot(error, counters, transport);
      if (found === undefined) throw error;
      return new CrossSlotDecision(place, found, request).decide(withinMs - (monitor.now() - sent));
    });
}

/** How decisions over several hash slots undo what they did. */
export function crossSlotDepsOf(place: RedisStageDeps): CrossSlotDeps {
  const { policy } = place;

  function releaseSlots(counters: readonly SubjectCounter[], holder: string): void {
    // Bypasses the watch: the server that was late is known to be down. Slots that are not released
    // expire.
    for (const counter of slotCountersOf(counters)) {
      policy.store
        .run(slotsOperation, { counters: [counter], holders: [holder], renews: false })
        .catch(() => {});
    }
  }

  return {
    ...place,
    refund: (receipt) => mutateOnServers(place, refundMutation(receipt)),
    onLateReply({ counters, holder, cost }, reply) {
      const own = counters as readonly SubjectCounter[];
      if (holder !== undefined) releaseSlots(own, holder);
      // The units are charged: what is read is what the reply publishes.
      if (reply !== undefined) decodeReply(policy, own, cost, reply);
    },
  };
}

/** Makes a change in all hash slots concurrently. */
async function mutateOnServers<Call>(
  { policy, monitor, transport }: RedisStageDeps,
  { operation, counters, callOf, thresholdsAt }: Mutation<Call>,
): Promise<readonly MutationResult[]> {
  async function mutateInOneCall(
    together: readonly Counter[],
    waitedMs: number,
  ): Promise<readonly MutationResult[]> {
    const sent = monitor.now();
    const reportThresholds =
      thresholdsAt === undefined
        ? undefined
        : (reply: LateReply) => reply && publishThresholds(policy, together, reply, thresholdsAt);
    try {
      const { key } = together[0] as Counter;
      const reply = await monitor.run(
        policy.store,
        operation,
        callOf(together),
        key,
        waitedMs,
        reportThresholds,
      );
      rejectWrongType(reply, together);
      reportThresholds?.(reply);
      return [{ counters: together, reply }];
    } catch (error) {
      const found = regroupByHashSlot(error, together, transport);
      if (found === undefined) return [{ counters: together, error }];
      return mutateEachHashSlot(found, waitedMs + monitor.now() - sent);
    }
  }

  async function mutateEachHashSlot(
    slots: readonly (readonly Counter[])[],
    waitedMs: number,
  ): Promise<readonly MutationResult[]> {
    return (await Promise.all(slots.map((some) => mutateInOneCall(some, waitedMs)))).flat();
  }

  return mutateEachHashSlot(groupByHashSlot(counters, transport), 0);
}
