import type { LimitState } from "../decision.ts";
import { HeadgateError } from "../errors.ts";
import type { DecideMode } from "../store/decide.ts";
import { decide } from "../store/decide.ts";
import type { Receipt } from "../store/refund.ts";
import { refund } from "../store/refund.ts";
import type { Remote } from "../store/store.ts";
import type { Counters, GroupUnit } from "./counters.ts";
import type { LimitStates, ReadReply } from "./read-reply.ts";
import { present, readReply } from "./read-reply.ts";
import type { StoreWatch } from "./store-watch.ts";

/** What a store answered. */
export interface Answer {
  readonly allowed: boolean;
  readonly limits: readonly LimitState[];
  /** What was charged: one receipt for each slot. */
  readonly receipts: readonly Receipt[];
  /** The reply as it came, where all units were asked in one call. */
  readonly reply: readonly number[] | undefined;
}

/** Asks a store whose counts are on servers: in one call where all units are in one slot. */
export function askStore(
  counters: Counters,
  watch: StoreWatch,
  remote: Remote,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
): Promise<Answer> {
  const mode = charge ? "charge" : "peek";
  const slots = units.length === 1 ? [units] : bySlot(units, remote);
  if (slots.length === 1) return askOneSlot(counters, watch, units, cost, mode);
  return new AcrossSlots(counters, watch, slots, cost).decide(mode);
}

/** Units that can go in one call, together. */
export function bySlot(units: readonly GroupUnit[], remote: Remote): readonly GroupUnit[][] {
  const slots = new Map<number, GroupUnit[]>();
  for (const unit of units) {
    const slot = remote.slotOf(unit.key);
    const together = slots.get(slot);
    if (together === undefined) slots.set(slot, [unit]);
    else together.push(unit);
  }
  return [...slots.values()];
}

async function askOneSlot(
  counters: Counters,
  watch: StoreWatch,
  units: readonly GroupUnit[],
  cost: number,
  mode: DecideMode,
): Promise<Answer> {
  const { key } = units[0] as GroupUnit;
  const reply = await watch.run(decide, { cost, mode, units }, key);
  const { allowed, receipt, states } = readReply(counters, units, cost, reply);
  const receipts = allowed && mode === "charge" ? [receipt] : [];
  return { allowed, limits: present(states), receipts, reply };
}

/**
 * One decision whose units are in several slots of a cluster, which no single call can reach.
 *
 * All slots are asked first, at once: a denial there is final, complete, and charged nowhere. Otherwise all are charged, at
 * once; should one deny now, because somebody else was faster, what the others charged is given back by receipt before the
 * answer. So no limit is ever exceeded, and a denied decision leaves no more than what drained while it held the units.
 */
class AcrossSlots {
  readonly #counters: Counters;
  readonly #watch: StoreWatch;
  readonly #slots: readonly (readonly GroupUnit[])[];
  readonly #cost: number;
  /** Set when the time for the decision is over: nothing more is charged, and what was is given back. */
  #isOver = false;

  constructor(
    counters: Counters,
    watch: StoreWatch,
    slots: readonly (readonly GroupUnit[])[],
    cost: number,
  ) {
    this.#counters = counters;
    this.#watch = watch;
    this.#slots = slots;
    this.#cost = cost;
  }

  /** Rejects with the store's error; then nothing stays charged that could be given back. */
  async decide(mode: DecideMode): Promise<Answer> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#isOver = true;
        const { timeoutMs } = this.#watch;
        reject(
          new HeadgateError(
            "HEADGATE_STORE_UNAVAILABLE",
            `the store gave no answer over several slots within ${timeoutMs} ms`,
          ),
        );
      }, this.#watch.timeoutMs);
    });
    try {
      return await Promise.race([this.#decide(mode), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #decide(mode: DecideMode): Promise<Answer> {
    const asked = await Promise.all(this.#slots.map((units) => this.#ask(units, "ask")));
    const before = merge(asked);
    if (!asked.every(({ allowed }) => allowed)) return denied(before);
    if (this.#isOver) return denied(before);
    const settled = await Promise.allSettled(this.#slots.map((units) => this.#ask(units, mode)));
    const replies = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const receipts =
      mode === "charge"
        ? replies.filter(({ allowed }) => allowed).map(({ receipt }) => receipt)
        : [];
    const failed = settled.find((one) => one.status === "rejected");
    const isDenied = !replies.every(({ allowed }) => allowed);
    if (failed !== undefined || isDenied || this.#isOver) await this.#giveBack(receipts);
    if (failed !== undefined) throw failed.reason;
    // What was charged and given back is as it was before.
    if (isDenied) return denied(merge([...asked, ...replies.filter(({ allowed }) => !allowed)]));
    return { allowed: true, limits: present(merge(replies)), receipts, reply: undefined };
  }

  async #ask(units: readonly GroupUnit[], mode: DecideMode): Promise<ReadReply> {
    const { key } = units[0] as GroupUnit;
    const reply = await this.#watch.run(decide, { cost: this.#cost, mode, units }, key);
    return readReply(this.#counters, units, this.#cost, reply);
  }

  /** What cannot be delivered stays charged. */
  async #giveBack(receipts: readonly Receipt[]): Promise<void> {
    await Promise.allSettled(
      receipts.map((receipt) =>
        this.#watch.run(refund, receipt, (receipt.units[0] as GroupUnit).key),
      ),
    );
  }
}

/** The limits of several replies; a later one's count. */
function merge(replies: readonly ReadReply[]): LimitStates {
  const merged: (LimitState | undefined)[] = [];
  for (const { states } of replies) {
    states.forEach((state, place) => {
      if (state !== undefined) merged[place] = state;
    });
  }
  return merged;
}

function denied(states: LimitStates): Answer {
  return { allowed: false, limits: present(states), receipts: [], reply: undefined };
}
