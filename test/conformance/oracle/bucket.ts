import type { Account, Definition } from "./account.ts";
import { ceilDivide, clampToZero, floorDivide } from "./account.ts";

interface Rates {
  readonly capacity: bigint;
  readonly refill: bigint;
  /** Microseconds in which `refill` units drain. */
  readonly every: bigint;
}

/**
 * Defines `gcra` and `tokenBucket` as a debt that drains at refill/every units a microsecond and may reach the capacity.
 * The debt is a numerator over `every`, so that a microsecond drains exactly `refill`. A refund assumes that all units drained
 * at the fastest refill rate so far.
 */
export function defineLevel(rates: Rates): Definition {
  const { capacity, refill, every } = rates;
  return {
    capacity,
    window: capacity === 0n ? every : ceilDivide(capacity * every, refill),
    open: () => new LevelAccount(rates),
    adopt: (account) => (account as LevelAccount).copyBy(rates),
  };
}

class LevelAccount implements Account {
  readonly #rates: Rates;
  #debt = 0n;
  #at = 0n;
  #fastest = 0n;

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    const { capacity, every } = this.#rates;
    return this.#untilDebt((capacity - cost) * every, now);
  }

  remaining(now: bigint): bigint {
    const { capacity, every } = this.#rates;
    return floorDivide(capacity * every - this.#debtAt(now), every);
  }

  untilRefill(now: bigint): bigint {
    if (this.#debtAt(now) === 0n) return 0n;
    const { capacity, every } = this.#rates;
    return this.#untilDebt(
      clampToZero(capacity - clampToZero(this.remaining(now)) - 1n) * every,
      now,
    );
  }

  untilReset(now: bigint): bigint {
    return this.#untilDebt(0n, now);
  }

  charge(cost: bigint, now: bigint): void {
    this.advance(now);
    this.#debt += cost * this.#rates.every;
  }

  refund(cost: bigint, charged: bigint, now: bigint): boolean {
    this.advance(now);
    const given = cost * this.#rates.every - (now - charged) * this.#fastest;
    if (given <= 0n) return false;
    if (given > this.#debt) throw new RangeError("the refund exceeds the debt");
    this.#debt -= given;
    return true;
  }

  advance(now: bigint): void {
    const { refill } = this.#rates;
    this.#debt = this.#debtAt(now);
    this.#at = now;
    if (this.#fastest < refill) this.#fastest = refill;
  }

  copy(): Account {
    return this.copyBy(this.#rates);
  }

  copyBy(rates: Rates): LevelAccount {
    const copy = new LevelAccount(rates);
    copy.#debt = this.#debt;
    copy.#at = this.#at;
    copy.#fastest = this.#fastest;
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
