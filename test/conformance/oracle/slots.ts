import type { ConcurrencyLimit, LimitState } from "@headgate/core";
import type { Account, Definition } from "./account.ts";

/** Whoever is denied is told to come again so many microseconds later: nobody knows when a place comes free. */
const RETRY_US = 1_000_000n;

/** Whether a limit is of places, by what is told of it. */
export function isConcurrencyState({ windowMs }: Pick<LimitState, "windowMs">): boolean {
  return windowMs === 0;
}

/** Places by definition: who holds them, how many, and until when, in whole microseconds. */
export class OracleSlots {
  readonly #ttl: bigint;
  readonly #held = new Map<unknown, { readonly until: bigint; readonly number: number }>();

  /** In microseconds: for so long a place is held that nobody renews. */
  constructor(ttl: bigint) {
    this.#ttl = ttl;
  }

  /** How many places are held. */
  countHeld(now: bigint): number {
    let taken = 0;
    for (const [holder, { until, number }] of this.#held) {
      if (until > now) taken += number;
      else this.#held.delete(holder);
    }
    return taken;
  }

  /** Takes places, or renews those that the holder has. */
  hold(holder: unknown, now: bigint, number = 1): void {
    this.#held.set(holder, { until: now + this.#ttl, number });
  }

  isHeld(holder: unknown, now: bigint): boolean {
    return (this.#held.get(holder)?.until ?? 0n) > now;
  }

  release(holder: unknown): void {
    this.#held.delete(holder);
  }

  /** Microseconds until each of the places lapses. */
  expiries(now: bigint): bigint[] {
    return [...this.#held.values()].map(({ until }) => until - now).filter((rest) => rest > 0n);
  }

  copy(): OracleSlots {
    const copy = new OracleSlots(this.#ttl);
    for (const [holder, held] of this.#held) copy.#held.set(holder, held);
    return copy;
  }
}

/** `concurrency`: of each subject's places, at most so many are taken. */
export function defineConcurrency(limit: ConcurrencyLimit, ttl: bigint): Definition {
  const capacity = BigInt(limit.limit);
  return {
    capacity,
    window: 0n,
    open: () => new SlotsAccount(capacity, new OracleSlots(ttl)),
    adopt: (account) => new SlotsAccount(capacity, (account as SlotsAccount).slots),
  };
}

/** What is charged is held by nobody in particular; who holds what is a matter of `places`. */
export class SlotsAccount implements Account {
  readonly #limit: bigint;
  readonly slots: OracleSlots;

  constructor(limit: bigint, places: OracleSlots) {
    this.#limit = limit;
    this.slots = places;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    return cost <= this.remaining(now) ? 0n : RETRY_US;
  }

  remaining(now: bigint): bigint {
    return this.#limit - BigInt(this.slots.countHeld(now));
  }

  untilRefill(): bigint {
    return 0n;
  }

  untilReset(): bigint {
    return 0n;
  }

  charge(cost: bigint, now: bigint): void {
    this.slots.hold(Symbol("nobody"), now, Number(cost));
  }

  refund(): boolean {
    return false;
  }

  advance(): void {}

  copy(): Account {
    return new SlotsAccount(this.#limit, this.slots.copy());
  }
}
