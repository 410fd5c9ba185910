import type { Called, Counts, WindowOracle } from "./oracle-window.ts";
import { count } from "./oracle-window.ts";

const SUB_WINDOWS = 50n;

/** One outcome, and the sub-window since the epoch in which it came. */
interface Kept extends Called {
  readonly index: bigint;
}

/** The outcomes of the current sub-window and of the 49 before it. */
export class TimeWindowOracle implements WindowOracle {
  /** Microseconds of one sub-window. */
  readonly #size: bigint;
  /** In the order in which they came, which is that of their indexes. */
  #kept: readonly Kept[] = [];

  constructor(length: bigint) {
    if (length % SUB_WINDOWS !== 0n) throw new RangeError(`${length} is not 50 equal parts`);
    this.#size = length / SUB_WINDOWS;
  }

  add(called: Called, now: bigint): void {
    this.#stepBack(now);
    this.#kept = [...this.#counting(now), { ...called, index: now / this.#size }];
  }

  counts(now: bigint): Counts {
    this.#stepBack(now);
    return count(this.#counting(now));
  }

  clear(): void {
    this.#kept = [];
  }

  #counting(now: bigint): readonly Kept[] {
    const left = now / this.#size - SUB_WINDOWS;
    return this.#kept.filter(({ index }) => index > left);
  }

  /** Where the clock stepped back, the newest outcome is of the current sub-window, and the others as far behind it as before. */
  #stepBack(now: bigint): void {
    const newest = this.#kept.at(-1)?.index ?? 0n;
    const behind = newest - now / this.#size;
    if (behind <= 0n) return;
    this.#kept = this.#kept.map((kept) => ({ ...kept, index: kept.index - behind }));
  }
}
