import type { LimitState } from "../decision.ts";
import type { DecideMode } from "../store/decide.ts";
import { decide } from "../store/decide.ts";
import type { Receipt } from "../store/refund.ts";
import type { Remote } from "../store/store.ts";
import type { Unit } from "../store/unit.ts";
import { AcrossSlots } from "./across-slots.ts";
import type { Counters } from "./counters.ts";
import { present, readReply } from "./read-reply.ts";
import type { StoreWatch } from "./store-watch.ts";
import type { GroupUnit } from "./units.ts";

/** What a store answered. */
export interface Answer {
  readonly allowed: boolean;
  readonly limits: readonly LimitState[];
  /** What was charged: one receipt for each slot. */
  readonly receipts: readonly Receipt[];
  /** The replies, when they deny for as long as they say; none when the request was allowed, or the denial may not last. */
  readonly lasting: readonly UnitsReply[];
}

/** A reply of decide.lua, and the units it is of. */
export interface UnitsReply {
  readonly units: readonly GroupUnit[];
  readonly reply: readonly number[];
}

/** Where decisions are asked for, and how what they charged is given back. */
export interface AskedStore {
  readonly counters: Counters;
  readonly watch: StoreWatch;
  readonly remote: Remote;
  giveBack(receipts: readonly Receipt[]): Promise<unknown>;
}

const NOTHING: readonly never[] = [];

/** Asks a store whose counts are on servers: in one call where all units are in one slot. Rejects with the store's error. */
export function askStore(
  asked: AskedStore,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
): Promise<Answer> {
  const mode = charge ? "charge" : "peek";
  const slots = units.length === 1 ? [units] : bySlot(units, asked.remote);
  if (slots.length === 1) return askOneSlot(asked, units, cost, mode);
  return new AcrossSlots(asked, slots, cost).decide(mode);
}

/** Units that can go in one call, together. */
export function bySlot<U extends Unit>(units: readonly U[], remote: Remote): readonly U[][] {
  const slots = new Map<number, U[]>();
  for (const unit of units) {
    const slot = remote.slotOf(unit.key);
    const together = slots.get(slot);
    if (together === undefined) slots.set(slot, [unit]);
    else together.push(unit);
  }
  return [...slots.values()];
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
