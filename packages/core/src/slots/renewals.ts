import { Alarm } from "../common/background.ts";
import type { Counter } from "../operations/counter.ts";
import type { SlotStore } from "../policy/slot.ts";

/** How often slots are renewed within their `ttl`, so that one call may fail, and the next be late, before any slot is lost. */
const RENEWALS = 3;

/** A slot that is watched until it is released. Times are in microseconds, on its store's clock. */
export interface RenewedSlot {
  readonly store: SlotStore;
  readonly counter: Counter;
  readonly holder: string;
  /** How long it is held unless it is renewed. */
  readonly ttl: number;
  /** Until when it is known to be held: a little less than it really is. */
  until: number;
  /** Whether to renew it now; otherwise only its expiry is noticed. */
  isRenewed(): boolean;
  onLost(): void;
}

/** The slots of one counter that are renewed together. */
type Together = [RenewedSlot, ...RenewedSlot[]];

/** Renews the slots that this process holds in a store, with one timer for all that have the same `ttl`. */
export class Renewals {
  readonly #rounds = new Map<number, Round>();

  add(place: RenewedSlot): void {
    const known = this.#rounds.get(place.ttl);
    const round = known ?? new Round(place.ttl, () => this.#rounds.delete(place.ttl));
    if (known === undefined) this.#rounds.set(place.ttl, round);
    round.add(place);
  }

  remove(place: RenewedSlot): void {
    this.#rounds.get(place.ttl)?.remove(place);
  }
}

/** Renews all of its slots every `ttl / 3`, and notices those that expired in between. */
class Round {
  readonly #period: number;
  readonly #onEmpty: () => void;
  readonly #slots = new Set<RenewedSlot>();
  /** When all are renewed next. */
  #next = 0;
  readonly #alarm = new Alarm(() => this.#wake());

  constructor(ttl: number, onEmpty: () => void) {
    this.#period = ttl / RENEWALS;
    this.#onEmpty = onEmpty;
  }

  add(place: RenewedSlot): void {
    const now = place.store.now();
    if (this.#slots.size === 0) this.#next = now + this.#period;
    this.#slots.add(place);
    this.#wakeAt(Math.min(this.#next, place.until), now);
  }

  remove(place: RenewedSlot): void {
    this.#slots.delete(place);
    if (this.#slots.size > 0) return;
    this.#alarm.stop();
    this.#onEmpty();
  }

  #wakeAt(due: number, now: number): void {
    this.#alarm.setBy((due - now) / 1_000);
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
    for (const place of [...this.#slots]) if (place.until <= now) place.onLost();
    if (now >= this.#next) {
      this.#next = now + this.#period;
      for (const together of byCounter(this.#slots)) void this.#renew(together, now);
    }
    if (this.#slots.size > 0) this.#wakeAt(Math.min(this.#next, this.#earliest()), now);
  }

  #earliest(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { until } of this.#slots) earliest = Math.min(earliest, until);
    return earliest;
  }

  /** If the store does not answer, this is retried the next time, until the slot has expired. */
  async #renew(places: Together, now: number): Promise<void> {
    const [{ store, counter }] = places;
    const holders = places.map(({ holder }) => holder);
    const areThere = await store.tend(counter, holders, true).catch(() => undefined);
    areThere?.forEach((isThere, i) => {
      const place = places[i] as RenewedSlot;
      if (!this.#slots.has(place)) return;
      if (isThere) place.until = now + place.ttl;
      else place.onLost();
    });
  }
}

/** The slots to renew, by counter: each counter is asked once. */
function byCounter(places: Iterable<RenewedSlot>): Iterable<Together> {
  const counters = new Map<string, Together>();
  for (const place of places) {
    if (!place.isRenewed()) continue;
    const together = counters.get(place.counter.key);
    if (together === undefined) counters.set(place.counter.key, [place]);
    else together.push(place);
  }
  return counters.values();
}
