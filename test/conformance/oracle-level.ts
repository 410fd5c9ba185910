import type { Account, Definition } from "./oracle-account.ts";
import { ceilDivide } from "./oracle-account.ts";

interface Rates {
  readonly capacity: bigint;
  readonly refill: bigint;
  /** Microseconds in which `refill` units drain. */
  readonly every: bigint;
}

/**
 * `gcra` and `tokenBucket`: a debt that drains at refill/every units a microsecond and may reach the capacity.
 * Kept as the numerator over `every`, so that a microsecond drains exactly `refill`.
 */
export function defineLevel(rates: Rates): Definition {
  const { capacity, refill, every } = rates;
  return {
    capacity,
    window: ceilDivide(capacity * every, refill),
    open: () => new LevelAccount(rates),
  };
}

class LevelAccount implements Account {
  readonly #rates: Rates;
  #debt = 0n;
  #at = 0n;

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    const { capacity, every } = this.#rates;
    return this.#untilDebt((capacity - cost) * every, now);
  }

  remaining(now: bigint): bigint {
    const { capacity, every } = this.#rates;
    return (capacity * every - this.#debtAt(now)) / every;
  }

  untilGrowth(now: bigint): bigint {
    if (this.#debtAt(now) === 0n) return 0n;
    const { capacity, every } = this.#rates;
    return this.#untilDebt((capacity - this.remaining(now) - 1n) * every, now);
  }

  untilUnused(now: bigint): bigint {
    return this.#untilDebt(0n, now);
  }

  charge(cost: bigint, now: bigint): void {
    this.#debt = this.#debtAt(now) + cost * this.#rates.every;
    this.#at = now;
  }

  copy(): Account {
    const copy = new LevelAccount(this.#rates);
    copy.#debt = this.#debt;
    copy.#at = this.#at;
    return copy;
  }

  #debtAt(now: bigint): bigint {
    const debt = this.#debt - (now - this.#at) * this.#rates.refill;
    return debt > 0n ? debt : 0n;
  }

  #untilDebt(target: bigint, now: bigint): bigint {
    const excess = this.#debtAt(now) - target;
    return excess <= 0n ? 0n : ceilDivide(excess, this.#rates.refill);
  }
}
