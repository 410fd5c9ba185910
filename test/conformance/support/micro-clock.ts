/** The latest time, in the year 2109, at which a double of milliseconds distinguishes microseconds. */
const LATEST = (2n ** 42n - 1n) * 1_000n;

/** A clock in whole microseconds that only the test advances. Stores take it as `{ clock: time.clock }`. */
export class MicroClock {
  now: bigint;

  constructor(now: bigint) {
    this.now = now;
  }

  /** The time in milliseconds, plus a quarter microsecond, so that rounding down keeps the microsecond. */
  readonly clock = (): number => (Number(this.now) + 0.25) / 1_000;

  /** Advances the clock. Returns false, without a change, if that would pass the latest time. */
  advance(microseconds: bigint): boolean {
    if (this.now + microseconds > LATEST) return false;
    this.now += microseconds;
    return true;
  }
}
