import type { Waits } from "./result.ts";

/** The most distinct waits that are counted exactly. Beyond that, waits are rounded to a thousandth. */
const MAX_DISTINCT = 100_000;

/** Counts waits in milliseconds. */
export class WaitCounts {
  readonly #maxDistinct: number;
  #counts = new Map<number, number>();
  #total = 0;
  #max = 0;
  #isRounded = false;

  constructor(maxDifferent: number = MAX_DISTINCT) {
    this.#maxDistinct = maxDifferent;
  }

  add(ms: number): void {
    this.#total += 1;
    if (ms > this.#max) this.#max = ms;
    this.#count(ms, 1);
    if (this.#counts.size > this.#maxDistinct && !this.#isRounded) this.#round();
  }

  /** The percentiles of all waits; null if there are none. */
  percentiles(): Waits | null {
    if (this.#total === 0) return null;
    const inOrder = [...this.#counts].sort(([one], [other]) => one - other);
    const percentile = (share: number): number => {
      let left = Math.ceil(share * this.#total);
      for (const [ms, count] of inOrder) {
        left -= count;
        if (left <= 0) return Math.min(ms, this.#max);
      }
      return this.#max;
    };
    return { p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99), max: this.#max };
  }

  #count(ms: number, count: number): void {
    const wait = this.#isRounded ? roundUp(ms) : ms;
    this.#counts.set(wait, (this.#counts.get(wait) ?? 0) + count);
  }

  #round(): void {
    const exact = this.#counts;
    this.#isRounded = true;
    this.#counts = new Map();
    for (const [ms, count] of exact) this.#count(ms, count);
  }
}

/** Rounds up to four digits, which is less than a thousandth. */
function roundUp(ms: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(ms, 1))) - 3);
  return Math.ceil(ms / unit) * unit;
}
