import { BackgroundTimer } from "../common/background.ts";
import type { Counter } from "../operations/counter.ts";
import type { SlotStore } from "../policy/slot.ts";

/** How often slots are renewed within their `ttl`, so that one call may fail, and the next be late, before any slot is lost. */
const RENEWALS_PER_TTL = 3;

/** A slot that is watched until it is released. Times are in microseconds, on its store's clock. */
export interface RenewedSlot {
  readonly store: SlotStore;
  readonly counter: Counter;
  readonly holder: string;
  /** How long it is held unless it is renewed. */
  readonly ttl: number;
  /** Until when it is known to be held: a little less than it really is. */
  expiresAt: number;
  /** Whether to renew it now; otherwise only its expiry is noticed. */
  shouldRenew(): boolean;
  onLost(): void;
}

/** The slots of one counter that are renewed together. */
type CounterSlots = [RenewedSlot, ...RenewedSlot[]];

/** Renews the slots that this process holds in a store, with one timer for all that have the same `ttl`. */
export class Renewals {
  readonly #timers = new Map<number, RenewalTimer>();

  add(slot: RenewedSlot): void {
    const known = this.#timers.get(slot.ttl);
    const round = known ?? new RenewalTimer(slot.ttl, () => this.#timers.delete(slot.ttl));
    if (known === undefined) this.#timers.set(slot.ttl, round);
    round.add(slot);
  }

  remove(slot: RenewedSlot): void {
    this.#timers.get(slot.ttl)?.remove(slot);
  }
}

/** Renews all of its slots every `ttl / 3`, and notices those that expired in between. */
class RenewalTimer {
  readonly #period: number;
  readonly #onEmpty: () => void;
  readonly #slots = new Set<RenewedSlot>();
  /** When all are renewed next. */
  #nextRenewal = 0;
  readonly #alarm = new BackgroundTimer(() => this.#wake());

  constructor(ttl: number, onEmpty: () => void) {
    this.#period = ttl / RENEWALS_PER_TTL;
    this.#onEmpty = onEmpty;
  }

  add(slot: RenewedSlot): void {
    const now = slot.store.now();
    if (this.#slots.size === 0) this.#nextRenewal = now + this.#period;
    this.#slots.add(slot);
    this.#wakeAt(Math.min(this.#nextRenewal, slot.expiresAt), now);
  }

  remove(slot: RenewedSlot): void {
    this.#slots.delete(slot);
    if (this.#slots.size > 0) return;
    this.#alarm.stop();
    this.#onEmpty();
  }

  #wakeAt(due: number, now: number): void {
    this.#alarm.setNoLater((due - now) / 1_000);
  }

  #wake(): void {
    const [first] = this.#slots as Iterable<RenewedSlot>;
    if (first === undefined) return;
    let now: number;
    try {
      now = first.store.now();
    } catch {
      // The application's own clock failed; requests report that.
      this.#wakeAt(this.#period, 0);
      return;
    }
    for (const slot of [...this.#slots]) if (slot.expiresAt <= now) slot.onLost();
    if (now >= this.#nextRenewal) {
      this.#nextRenewal = now + this.#period;
      for (const together of groupByCounter(this.#slots)) void this.#renew(together, now);
    }
    if (this.#slots.size > 0) this.#wakeAt(Math.min(this.#nextRenewal, this.#earliest()), now);
  }

  #earliest(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { expiresAt } of this.#slots) earliest = Math.min(earliest, expiresAt);
    return earliest;
  }

  /** If the store does not answer, this is retried the next time, until the slot has expired. */
  async #renew(slots: CounterSlots, now: number): Promise<void> {
    const [{ store, counter }] = slots;
    const holders = slots.map(({ holder }) => holder);
    const areThere = await store.renewOrRelease(counter, holders, true).catch(() => undefined);
    areThere?.forEach((isThere, i) => {
      const slot = slots[i] as RenewedSlot;
      if (!this.#slots.has(slot)) return;
      if (isThere) slot.expiresAt = now + slot.ttl;
      else slot.onLost();
    });
  }
}

/** The slots to renew, by counter: each counter is asked once. */
function groupByCounter(slots: Iterable<RenewedSlot>): Iterable<CounterSlots> {
  const counters = new Map<string, CounterSlots>();
  for (const slot of slots) {
    if (!slot.shouldRenew()) continue;
    const together = counters.get(slot.counter.key);
    if (together === undefined) counters.set(slot.counter.key, [slot]);
    else together.push(slot);
  }
  return counters.values();
}
