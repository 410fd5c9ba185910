import type { ConcurrencyLimit, LimitState } from "@headgate/core";
import type { Account, Definition } from "./account.ts";

/** Whoever is denied is told to come again so many microseconds later: nobody knows when a place comes free. */
const RETRY = 1_000_000n;

/** Whether a limit is of places, by what is told of it. */
export function isOfPlaces({ windowMs }: Pick<LimitState, "windowMs">): boolean {
  return windowMs === 0;
}

/** Places by definition: who holds them, how many, and until when, in whole microseconds. */
export class OraclePlaces {
  readonly #ttl: bigint;
  readonly #held = new Map<unknown, { readonly until: bigint; readonly number: number }>();

  /** In microseconds: for so long a place is held that nobody renews. */
  constructor(ttl: bigint) {
    this.#ttl = ttl;
  }

  /** How many places are held. */
  taken(now: bigint): number {
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

  leave(holder: unknown): void {
    this.#held.delete(holder);
  }

  /** Microseconds until each of the places lapses. */
  lapses(now: bigint): bigint[] {
    return [...this.#held.values()].map(({ until }) => until - now).filter((rest) => rest > 0n);
  }

  copy(): OraclePlaces {
    const copy = new OraclePlaces(this.#ttl);
    for (const [holder, held] of this.#held) copy.#held.set(holder, held);
    return copy;
  }
}

/** `concurrency`: of each subject's places, at most so many are taken. */
export function definePlaces(limit: ConcurrencyLimit, ttl: bigint): Definition {
  const capacity = BigInt(limit.limit);
  return {
    capacity,
    window: 0n,
    open: () => new PlacesAccount(capacity, new OraclePlaces(ttl)),
    adopt: (account) => new PlacesAccount(capacity, (account as PlacesAccount).places),
  };
}

/** What is charged is held by nobody in particular; who holds what is a matter of `places`. */
export class PlacesAccount implements Account {
  readonly #limit: bigint;
  readonly places: OraclePlaces;

  constructor(limit: bigint, places: OraclePlaces) {
    this.#limit = limit;
    this.places = places;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    return cost <= this.remaining(now) ? 0n : RETRY;
  }

  remaining(now: bigint): bigint {
    return this.#limit - BigInt(this.places.taken(now));
  }

  untilGrowth(): bigint {
    return 0n;
  }

  untilUnused(): bigint {
    return 0n;
  }

  charge(cost: bigint, now: bigint): void {
    this.places.hold(Symbol("nobody"), now, Number(cost));
  }

  refund(): boolean {
    return false;
  }

  pass(): void {}

  copy(): Account {
    return new PlacesAccount(this.#limit, this.places.copy());
  }
}
