/** The share of calls that is let through when a ramp begins. */
const FIRST_SHARE = 0.1;

/** Lets through a growing share of calls, evenly spread: one in ten at first, all of them at the end. */
export class Ramp {
  readonly #length: number;
  #credit = 0;

  /** `length` in any unit of time. */
  constructor(length: number) {
    this.#length = length;
  }

  /** Whether one more call is let through, when so much of the ramp is left. */
  admits(left: number): boolean {
    const passed = 1 - left / this.#length;
    this.#credit += FIRST_SHARE + (1 - FIRST_SHARE) * passed;
    if (this.#credit < 1) return false;
    this.#credit -= 1;
    return true;
  }
}
