import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../common/channels.ts";
import type { Decision } from "../common/decision.ts";
import { publish } from "../common/publish.ts";
import type { StoreMonitor } from "../health/outage.ts";
import { storeFailure } from "../health/store-failure.ts";
import type { Counter } from "../operations/counter.ts";
import { stepFor } from "../operations/decide.ts";
import { slotsOperation } from "../operations/slots.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { slotsOnly } from "../policy/counters.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { createSlotStore } from "../slots/slot-store.ts";
import type { ScriptTransport } from "../store/store.ts";
import { refundOf } from "./changes.ts";
import type { CrossSlotDeps, LateReply } from "./cross-slot.ts";
import { AcrossSlots, bySlot, bySlotAfter } from "./cross-slot.ts";
import { decisionOf, readAnswer, readReply, requestSlots } from "./decode-reply.ts";
import type { CallsInProgress, InFlight } from "./in-flight.ts";
import { done } from "./in-flight.ts";
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
  readonly counted: CompiledPolicy;
  readonly watch: StoreMonitor;
  readonly remote: ScriptTransport;
}

/** The last link of a limiter on servers: asks them, and uses `fallback` if they do not answer in time. */
export function decideOnServers(place: RedisStageDeps, fallback: Stage, flights: InFlight): Stage {
  const { counted, watch } = place;
  const { store } = counted;
  const slots = crossSlotDepsOf(place);
  let keeping: SlotKeeper | undefined;

  function keepSlots(): SlotKeeper {
    return createSlotStore(
      store,
      (call, key) => watch.run(store, slotsOperation, call, key),
      counted.reported,
    );
  }

  /** Rethrows errors other than a failure of the store. */
  async function decideWithout(
    request: DecisionRequest,
    flight: CallsInProgress,
    error: unknown,
  ): Promise<Decision> {
    done(flight);
    const reason = storeFailure(error, watch.notices);
    const decision = await fallback.decide(request);
    if (degradedDecisions.hasSubscribers) {
      const { limiter } = counted.reported;
      publish(degradedDecisions, { limiter, decision, reason } satisfies DegradedDecision);
    }
    return decision;
  }

  return {
    decide(request) {
      if (request.counted.hasSlots) {
        keeping ??= keepSlots();
        requestSlots(request, keeping);
      }
      const flight = flights.current;
      flight.count += 1;
      if (request.counters.length > 1) {
        return sendDecision(slots, request).then(
          (answer) => {
            done(flight);
            request.onDecision?.(request, answer);
            return decisionOf(request, answer, "store");
          },
          (error) => decideWithout(request, flight, error),
        );
      }
      return decideTogether(slots, request).then(
        (reply) => {
          let answer: StoreDecision;
          try {
            answer = readAnswer(request, reply);
          } catch (error) {
            return decideWithout(request, flight, error);
          }
          done(flight);
          request.onDecision?.(request, answer);
          return decisionOf(request, answer, "store");
        },
        (error) => decideWithout(request, flight, error),
      );
    },

    change: (mutation) => changeOnServers(place, mutation),

    async close() {},
  };
}

/** The store's reply about counters that fit in one call. */
function decideTogether(
  { counted, watch, onLateReply }: CrossSlotDeps,
  request: DecisionRequest,
): Promise<readonly number[]> {
  const { key } = request.counters[0] as SubjectCounter;
  let needsLateReply = request.slots !== undefined;
  for (const { thresholdMarks } of request.counters) needsLateReply ||= thresholdMarks.length > 0;
  const late = needsLateReply ? (reply: LateReply) => onLateReply(request, reply) : undefined;
  return watch.run(counted.store, stepFor(request.mode), request, key, request.waitedMs, late);
}

/** The store's answer from all hash slots of the counters. Rejects with the store's error. */
export function sendDecision(
  place: CrossSlotDeps,
  request: DecisionRequest,
): Promise<StoreDecision> {
  const { watch, remote } = place;
  const { counters, waitedMs } = request;
  const withinMs = watch.timeoutMs - waitedMs;
  const slots = bySlot(counters, remote);
  if (slots.length > 1) return new AcrossSlots(place, slots, request).decide(withinMs);
  const sent = watch.now();
  return decideTogether(place, request)
    .then((reply) => readAnswer(request, reply))
    .catch((error: unknown) => {
      // Nothing was done. Ask the hash slots separately, in the time that is left.
      const found = bySlotAfter(error, counters, remote);
      if (found === undefined) throw error;
      return new AcrossSlots(place, found, request).decide(withinMs - (watch.now() - sent));
    });
}

/** How decisions over several hash slots undo what they did. */
export function crossSlotDepsOf(place: RedisStageDeps): CrossSlotDeps {
  const { counted } = place;

  function returnPlaces(counters: readonly SubjectCounter[], holder: string): void {
    // Bypasses the watch: the server that was late is known to be down. Slots that are not released
    // expire.
    for (const counter of slotsOnly(counters)) {
      counted.store
        .run(slotsOperation, { counters: [counter], holders: [holder], renews: false })
        .catch(() => {});
    }
  }

  return {
    ...place,
    refund: (receipt) => changeOnServers(place, refundOf(receipt)),
    onLateReply({ counters, holder, cost }, reply) {
      const own = counters as readonly SubjectCounter[];
      if (holder !== undefined) returnPlaces(own, holder);
      // The units are charged: what is read is what the reply publishes.
      if (reply !== undefined) readReply(counted, own, cost, reply);
    },
  };
}

/** Makes a change in all hash slots concurrently. */
async function changeOnServers<Call>(
  { counted, watch, remote }: RedisStageDeps,
  { operation, counters, callOf, thresholdsAt }: Mutation<Call>,
): Promise<readonly MutationResult[]> {
  async function changeTogether(
    together: readonly Counter[],
    waitedMs: number,
  ): Promise<readonly MutationResult[]> {
    const sent = watch.now();
    const hear =
      thresholdsAt === undefined
        ? undefined
        : (reply: LateReply) => reply && publishThresholds(counted, together, reply, thresholdsAt);
    try {
      const { key } = together[0] as Counter;
      const reply = await watch.run(
        counted.store,
        operation,
        callOf(together),
        key,
        waitedMs,
        hear,
      );
      rejectWrongType(reply, together);
      hear?.(reply);
      return [{ counters: together, reply }];
    } catch (error) {
      const found = bySlotAfter(error, together, remote);
      if (found === undefined) return [{ counters: together, error }];
      return changeEach(found, waitedMs + watch.now() - sent);
    }
  }

  async function changeEach(
    slots: readonly (readonly Counter[])[],
    waitedMs: number,
  ): Promise<readonly MutationResult[]> {
    return (await Promise.all(slots.map((some) => changeTogether(some, waitedMs)))).flat();
  }

  return changeEach(bySlot(counters, remote), 0);
}
