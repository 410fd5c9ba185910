import { BackgroundTimer } from "../common/background.ts";
import type { Counter } from "../operations/counter.ts";
import { identityOf } from "../operations/counter.ts";

/** How often slots are renewed within their ttl, so that one renewal may fail and the next be late before a slot is lost. */
const RENEWALS_PER_TTL = 3;

/** The part of a store that holds slots. */
export interface SlotStore {
  /** The time in microseconds on the store's clock in this process. */
  now(): number;
  /**
   * Renews the slots of some holders in a counter, or releases them if `renews` is false. Resolves with whether each holder still
   * had its slot. Rejects with the store's errors.
   */
  renewOrRelease(
    counter: Counter,
    holders: readonly string[],
    renews: boolean,
  ): Promise<readonly boolean[]>;
}

/** A slot that is renewed, or only watched for its expiry. Times are in microseconds on its store's clock. */
export interface RenewedSlot {
  readonly store: SlotStore;
  readonly counter: Counter;
  readonly holder: string;
  /** How long the slot is held unless it is renewed. */
  readonly ttl: number;
  /** Until when the slot is certainly held: a little earlier than it expires in the store. */
  expiresAt: number;
  /** Whether to renew the slot now; if not, only its expiry is noticed. */
  shouldRenew(): boolean;
  onLost(): void;
}

/** The slots of one counter that are renewed together. */
type CounterSlots = [RenewedSlot, ...RenewedSlot[]];

/** Renews the slots that this process holds in a store, with one timer for all slots of the same ttl. */
export class Renewals {
  readonly #timers = new Map<number, RenewalTimer>();

  add(slot: RenewedSlot): void {
    const known = this.#timers.get(slot.ttl);
    const timer = known ?? new RenewalTimer(slot.ttl, () => this.#timers.delete(slot.ttl));
    if (known === undefined) this.#timers.set(slot.ttl, timer);
    timer.add(slot);
  }

  remove(slot: RenewedSlot): void {
    this.#timers.get(slot.ttl)?.remove(slot);
  }
}

/** Renews all of its slots every third of their ttl, and notices those that expire in between. */
class RenewalTimer {
  readonly #period: number;
  readonly #onEmpty: () => void;
  readonly #slots = new Set<RenewedSlot>();
  #nextRenewal = 0;
  readonly #timer = new BackgroundTimer(() => this.#wake());

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
    this.#timer.stop();
    this.#onEmpty();
  }

  #wakeAt(due: number, now: number): void {
    this.#timer.setNoLater((due - now) / 1_000);
  }

  #wake(): void {
    const [first] = this.#slots as Iterable<RenewedSlot>;
    if (first === undefined) return;
    let now: number;
    try {
      now = first.store.now();
    } catch {
      // The application's own clock failed, which requests report.
      this.#wakeAt(this.#period, 0);
      return;
    }
    for (const slot of [...this.#slots]) if (slot.expiresAt <= now) slot.onLost();
    if (now >= this.#nextRenewal) {
      this.#nextRenewal = now + this.#period;
      for (const slots of groupByCounter(this.#slots)) void this.#renew(slots, now);
    }
    if (this.#slots.size > 0) this.#wakeAt(Math.min(this.#nextRenewal, this.#earliest()), now);
  }

  #earliest(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { expiresAt } of this.#slots) earliest = Math.min(earliest, expiresAt);
    return earliest;
  }

  /** Renews slots of one counter. If the store does not answer, the next renewal tries again, until the slots have expired. */
  async #renew(slots: CounterSlots, now: number): Promise<void> {
    const [{ store, counter }] = slots;
    const holders = slots.map(({ holder }) => holder);
    const areHeld = await store.renewOrRelease(counter, holders, true).catch(() => undefined);
    areHeld?.forEach((isHeld, i) => {
      const slot = slots[i] as RenewedSlot;
      if (!this.#slots.has(slot)) return;
      if (isHeld) slot.expiresAt = now + slot.ttl;
      else slot.onLost();
    });
  }
}

/** The slots to renew now, by counter: those of one counter are renewed together. */
function groupByCounter(slots: Iterable<RenewedSlot>): Iterable<CounterSlots> {
  const counters = new Map<string, CounterSlots>();
  for (const slot of slots) {
    if (!slot.shouldRenew()) continue;
    const identity = identityOf(slot.counter);
    const sameCounter = counters.get(identity);
    if (sameCounter === undefined) counters.set(identity, [slot]);
    else sameCounter.push(slot);
  }
  return counters.values();
}
