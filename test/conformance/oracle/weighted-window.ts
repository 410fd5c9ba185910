import type { Account, Definition } from "./account.ts";
import { ceilDivide, clampToZero, floorDivide } from "./account.ts";

/**
 * Defines `slidingWindow` with one bucket: the count of the current window plus the weighted count of the previous one.
 * The weight is the share of the previous window that a window ending now covers. Estimates are numerators over the window.
 */
export function defineWeightedWindow(limit: bigint, window: bigint): Definition {
  return {
    capacity: limit,
    window,
    open: () => new WeightedWindowAccount(limit, window),
    adopt: (account) => (account as WeightedWindowAccount).copyBy(limit),
  };
}

class WeightedWindowAccount implements Account {
  readonly #limit: bigint;
  readonly #window: bigint;
  /** The number of the window that `#count` was charged in, since the epoch. */
  #index = 0n;
  #count = 0n;
  #previous = 0n;

  constructor(limit: bigint, window: bigint) {
    this.#limit = limit;
    this.#window = window;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    return this.#untilEstimate(this.#limit - cost, now);
  }

  remaining(now: bigint): bigint {
    return floorDivide(this.#limit * this.#window - this.#estimate(now), this.#window);
  }

  untilRefill(now: bigint): bigint {
    if (this.#estimate(now) === 0n) return 0n;
    // A limit of 0 grows only when it is unused again.
    const target = this.#limit - clampToZero(this.remaining(now)) - 1n;
    return this.#untilEstimate(clampToZero(target), now);
  }

  untilReset(now: bigint): bigint {
    const { current, previous, left } = this.#at(now);
    if (current > 0n) return left + this.#window;
    return previous > 0n ? left : 0n;
  }

  charge(cost: bigint, now: bigint): void {
    const { current, previous } = this.#at(now);
    this.#index = now / this.#window;
    this.#count = current + cost;
    this.#previous = previous;
  }

  refund(cost: bigint, charged: bigint, now: bigint): boolean {
    const { current, previous } = this.#at(now);
    const passed = now / this.#window - charged / this.#window;
    const count = passed === 0n ? current : passed === 1n ? previous : 0n;
    if (count === 0n) return false;
    const left = clampToZero(count - cost);
    this.#index = now / this.#window;
    this.#count = passed === 0n ? left : current;
    this.#previous = passed === 0n ? previous : left;
    return true;
  }

  advance(): void {}

  copy(): Account {
    return this.copyBy(this.#limit);
  }

  copyBy(limit: bigint): WeightedWindowAccount {
    const copy = new WeightedWindowAccount(limit, this.#window);
    copy.#index = this.#index;
    copy.#count = this.#count;
    copy.#previous = this.#previous;
    return copy;
  }

  /** The two counts as of `now`, and the microseconds left of the current window. */
  #at(now: bigint): { current: bigint; previous: bigint; left: bigint } {
    const passed = now / this.#window - this.#index;
    const left = this.#window - (now % this.#window);
    if (passed === 0n) return { current: this.#count, previous: this.#previous, left };
    return { current: 0n, previous: passed === 1n ? this.#count : 0n, left };
  }

  #estimate(now: bigint): bigint {
    const { current, previous, left } = this.#at(now);
    return current * this.#window + previous * left;
  }

  /** Microseconds until the estimate is at most `target` units, which is at least 0. */
  #untilEstimate(target: bigint, now: bigint): bigint {
    const { current, previous, left } = this.#at(now);
    const excess = this.#estimate(now) - target * this.#window;
    if (excess <= 0n) return 0n;
    // Within this window only the previous count fades, by `previous` in each microsecond.
    const here = previous === 0n ? left : ceilDivide(excess, previous);
    if (here < left) return here;
    // From the next window's start on, the present count fades.
    const excessThen = (current - target) * this.#window;
    return excessThen <= 0n ? left : left + ceilDivide(excessThen, current);
  }
}
