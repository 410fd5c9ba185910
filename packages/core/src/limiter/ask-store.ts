import type { DecideMode } from "../store/decide.ts";
import { decide } from "../store/decide.ts";
import { present, readReply } from "./read-reply.ts";
import { AcrossSlots } from "./slots/across-slots.ts";
import { bySlot, bySlotAfter } from "./slots/by-slot.ts";
import type { Answer, AskedStore } from "./slots/slots.ts";
import type { GroupUnit } from "./units.ts";

const NOTHING: readonly never[] = [];

/**
 * Asks a store whose counts are on servers: in one call where all units are in one slot, as far as is known. A call that shows
 * that they are not did nothing, and is asked again over the slots in what is left of the time. Rejects with the store's error.
 */
export function askStore(
  asked: AskedStore,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
): Promise<Answer> {
  const mode = charge ? "charge" : "peek";
  if (units.length === 1) return askOneSlot(asked, units, cost, mode);
  const { timeoutMs } = asked.watch;
  const slots = bySlot(units, asked.remote);
  if (slots.length > 1) return new AcrossSlots(asked, slots, cost).decide(mode, timeoutMs);
  const sent = performance.now();
  return askOneSlot(asked, units, cost, mode).catch((error: unknown) => {
    const found = bySlotAfter(error, units, asked.remote);
    if (found === undefined) throw error;
    const leftMs = timeoutMs - (performance.now() - sent);
    return new AcrossSlots(asked, found, cost).decide(mode, leftMs);
  });
}

function askOneSlot(
  { counters, watch }: AskedStore,
  units: readonly GroupUnit[],
  cost: number,
  mode: DecideMode,
): Promise<Answer> {
  const { key } = units[0] as GroupUnit;
  return watch.run(counters.store, decide, { cost, mode, units }, key).then((reply) => {
    const { allowed, receipt, states } = readReply(counters, units, cost, reply);
    return {
      allowed,
      limits: present(states),
      receipts: allowed && mode === "charge" ? [receipt] : NOTHING,
      lasting: allowed ? NOTHING : [{ units, reply }],
    };
  });
}
