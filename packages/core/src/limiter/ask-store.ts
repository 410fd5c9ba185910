import { stepFor } from "../store/decide.ts";
import type { DecideMode } from "../store/decide-call.ts";
import { isSettled } from "../store/decide-call.ts";
import { askedOf } from "./costs.ts";
import type { SubjectCounter } from "./counters.ts";
import { placesReturned } from "./places/returned-places.ts";
import type { TakenPlaces } from "./places/taken-places.ts";
import { listReceipt, present, readReply } from "./read-reply.ts";
import { AcrossSlots } from "./slots/across-slots.ts";
import { bySlot, bySlotAfter } from "./slots/by-slot.ts";
import type { Answer, AskedStore } from "./slots/slots.ts";

const NOTHING: readonly never[] = [];

/**
 * Asks a store whose counts are on servers: in one call if all counters are in one slot, as far as is known. A call that shows
 * that they are not did nothing, and is repeated for each slot in the time that is left. What a cost by name leaves out is
 * not asked. `waitedMs` of the time have already passed. Rejects with the store's error.
 */
export function askStore(
  asked: AskedStore,
  all: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  places?: TakenPlaces,
  waitedMs = 0,
): Promise<Answer> {
  const counters = askedOf(all);
  if (counters.length === 1) return askOneSlot(asked, counters, cost, mode, places, waitedMs);
  const withinMs = asked.watch.timeoutMs - waitedMs;
  const slots = bySlot(counters, asked.remote);
  if (slots.length > 1) return new AcrossSlots(asked, slots, cost, places).decide(mode, withinMs);
  const sent = asked.watch.now();
  return askOneSlot(asked, counters, cost, mode, places, waitedMs).catch((error: unknown) => {
    const found = bySlotAfter(error, counters, asked.remote);
    if (found === undefined) throw error;
    const leftMs = withinMs - (asked.watch.now() - sent);
    return new AcrossSlots(asked, found, cost, places).decide(mode, leftMs);
  });
}

function askOneSlot(
  { counted, watch }: AskedStore,
  counters: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  places: TakenPlaces | undefined,
  waitedMs: number,
): Promise<Answer> {
  const { key } = counters[0] as SubjectCounter;
  const call = { cost, mode, counters, holder: places?.holder };
  const store = placesReturned(counted.store, places);
  return watch.run(store, stepFor(mode), call, key, waitedMs).then((reply) => {
    const { allowed, blocked, receipt, states } = readReply(counted, counters, cost, reply);
    return {
      allowed,
      blocked,
      limits: present(states),
      receipts: allowed && isSettled(mode) ? listReceipt(receipt) : NOTHING,
      lasting: allowed ? NOTHING : [{ counters, reply }],
    };
  });
}
