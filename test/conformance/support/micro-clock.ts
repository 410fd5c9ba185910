/** Up to here, in the year 2109, milliseconds in a double distinguish each microsecond from the next. */
const LATEST = (2n ** 42n - 1n) * 1_000n;

/** A clock that stands still until it is moved, in whole microseconds. Handed to stores as `{ clock: time.clock }`. */
export class MicroClock {
  now: bigint;

  constructor(now: bigint) {
    this.now = now;
  }

  /** Milliseconds; a quarter microsecond above, so that rounding cannot reach the microsecond below. */
  readonly clock = (): number => (Number(this.now) + 0.25) / 1_000;

  /** Moves on; false, and no move, when that would be past the latest moment. */
  advance(microseconds: bigint): boolean {
    if (this.now + microseconds > LATEST) return false;
    this.now += microseconds;
    return true;
  }
}
