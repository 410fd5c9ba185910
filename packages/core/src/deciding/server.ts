import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../common/channels.ts";
import type { Decision } from "../common/decision.ts";
import { publish } from "../common/publish.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { placesOnly } from "../counting/counters.ts";
import { rejectWrongType } from "../counting/wrong-type.ts";
import type { StoreMonitor } from "../health/outage.ts";
import { storeFailure } from "../health/store-failure.ts";
import type { SlotKeeper } from "../slots/held-slots.ts";
import { createSlotStore } from "../slots/slot-store.ts";
import type { Counter } from "../store/counter.ts";
import { stepFor } from "../store/decide.ts";
import { places } from "../store/places.ts";
import type { Remote } from "../store/store.ts";
import { askPlaces, decisionOf, readAnswer, readReply } from "./ask.ts";
import { refundOf } from "./changes.ts";
import type { Flight, Flights } from "./flights.ts";
import { land } from "./flights.ts";
import type { Answer, Ask, Change, DegradedDecision, Link, Outcome } from "./link.ts";
import type { LateReply, SlotPlace } from "./slots.ts";
import { AcrossSlots, bySlot, bySlotAfter } from "./slots.ts";
import { publishTold } from "./thresholds.ts";

const degradedDecisions = channel(CHANNELS.degraded);

/** The parts of the last link of a limiter on servers. */
export interface ServerPlace {
  readonly counted: CountedPolicy;
  readonly watch: StoreMonitor;
  readonly remote: Remote;
}

/** The last link of a limiter on servers: asks them, and uses `fallback` if they do not answer in time. */
export function decideOnServers(place: ServerPlace, fallback: Link, flights: Flights): Link {
  const { counted, watch } = place;
  const { store } = counted;
  const slots = slotPlaceOf(place);
  let keeping: SlotKeeper | undefined;

  function keepSlots(): SlotKeeper {
    return createSlotStore(
      store,
      (call, key) => watch.run(store, places, call, key),
      counted.reported,
    );
  }

  /** Rethrows errors other than a failure of the store. */
  async function decideWithout(ask: Ask, flight: Flight, error: unknown): Promise<Decision> {
    land(flight);
    const reason = storeFailure(error, watch.notices);
    const decision = await fallback.decide(ask);
    if (degradedDecisions.hasSubscribers) {
      const { limiter } = counted.reported;
      publish(degradedDecisions, { limiter, decision, reason } satisfies DegradedDecision);
    }
    return decision;
  }

  return {
    decide(ask) {
      if (ask.counted.hasPlaces) {
        keeping ??= keepSlots();
        askPlaces(ask, keeping);
      }
      const flight = flights.current;
      flight.count += 1;
      if (ask.counters.length > 1) {
        return askServers(slots, ask).then(
          (answer) => {
            land(flight);
            ask.heed?.(ask, answer);
            return decisionOf(ask, answer, "store");
          },
          (error) => decideWithout(ask, flight, error),
        );
      }
      return askTogether(slots, ask).then(
        (reply) => {
          let answer: Answer;
          try {
            answer = readAnswer(ask, reply);
          } catch (error) {
            return decideWithout(ask, flight, error);
          }
          land(flight);
          ask.heed?.(ask, answer);
          return decisionOf(ask, answer, "store");
        },
        (error) => decideWithout(ask, flight, error),
      );
    },

    change: (change) => changeOnServers(place, change),

    async close() {},
  };
}

/** The store's reply about counters that fit in one call. */
function askTogether(
  { counted, watch, hearLate }: SlotPlace,
  ask: Ask,
): Promise<readonly number[]> {
  const { key } = ask.counters[0] as SubjectCounter;
  let isInVain = ask.places !== undefined;
  for (const { marks } of ask.counters) isInVain ||= marks.length > 0;
  const late = isInVain ? (reply: LateReply) => hearLate(ask, reply) : undefined;
  return watch.run(counted.store, stepFor(ask.mode), ask, key, ask.waitedMs, late);
}

/** The store's answer from all hash slots of the counters. Rejects with the store's error. */
export function askServers(place: SlotPlace, ask: Ask): Promise<Answer> {
  const { watch, remote } = place;
  const { counters, waitedMs } = ask;
  const withinMs = watch.timeoutMs - waitedMs;
  const slots = bySlot(counters, remote);
  if (slots.length > 1) return new AcrossSlots(place, slots, ask).decide(withinMs);
  const sent = watch.now();
  return askTogether(place, ask)
    .then((reply) => readAnswer(ask, reply))
    .catch((error: unknown) => {
      // Nothing was done. Ask the hash slots separately, in the time that is left.
      const found = bySlotAfter(error, counters, remote);
      if (found === undefined) throw error;
      return new AcrossSlots(place, found, ask).decide(withinMs - (watch.now() - sent));
    });
}

/** How decisions over several hash slots undo what they did. */
export function slotPlaceOf(place: ServerPlace): SlotPlace {
  const { counted } = place;

  function returnPlaces(counters: readonly SubjectCounter[], holder: string): void {
    // Bypasses the watch: the server that was late is known to be down. Slots that are not released
    // expire.
    for (const counter of placesOnly(counters)) {
      counted.store
        .run(places, { counters: [counter], holders: [holder], renews: false })
        .catch(() => {});
    }
  }

  return {
    ...place,
    refund: (receipt) => changeOnServers(place, refundOf(receipt)),
    hearLate({ counters, holder, cost }, reply) {
      const own = counters as readonly SubjectCounter[];
      if (holder !== undefined) returnPlaces(own, holder);
      // The units are charged: what is read is what the reply publishes.
      if (reply !== undefined) readReply(counted, own, cost, reply);
    },
  };
}

/** Makes a change in all hash slots concurrently. */
async function changeOnServers<Call>(
  { counted, watch, remote }: ServerPlace,
  { step, counters, callOf, toldAt }: Change<Call>,
): Promise<readonly Outcome[]> {
  async function changeTogether(
    together: readonly Counter[],
    waitedMs: number,
  ): Promise<readonly Outcome[]> {
    const sent = watch.now();
    const hear =
      toldAt === undefined
        ? undefined
        : (reply: LateReply) => reply && publishTold(counted, together, reply, toldAt);
    try {
      const { key } = together[0] as Counter;
      const reply = await watch.run(counted.store, step, callOf(together), key, waitedMs, hear);
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
  ): Promise<readonly Outcome[]> {
    return (await Promise.all(slots.map((some) => changeTogether(some, waitedMs)))).flat();
  }

  return changeEach(bySlot(counters, remote), 0);
}
