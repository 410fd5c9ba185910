/** The price of a call, and the credit for each at the beginning of a ramp: whole numbers, which add up exactly. */
const CALL_PRICE = 1_000_000;
const INITIAL_CREDIT = 100_000;

/** Admits a growing share of calls, evenly spread: one in ten at first, all of them at the end. */
export class Ramp {
  readonly #length: number;
  #credit = 0;

  /** `length` in any unit of time. */
  constructor(length: number) {
    this.#length = length;
  }

  /** Whether the next call is admitted, with this much of the ramp left. */
  tryAdmit(left: number): boolean {
    // During a deploy another policy's ramp may be longer, and this one's length may be 0.
    const passed = this.#length === 0 ? 1 : Math.max(1 - left / this.#length, 0);
    this.#credit += INITIAL_CREDIT + Math.round((CALL_PRICE - INITIAL_CREDIT) * passed);
    if (this.#credit < CALL_PRICE) return false;
    this.#credit -= CALL_PRICE;
    return true;
  }
}
