/** Calls under way that began in one period. */
export interface Flight {
  count: number;
  /** Called when the last of them has ended; undefined as long as none waits for that. */
  onLanded: (() => void) | undefined;
}

/**
 * The calls under way in a limiter, for `close` to wait for. A call adds one to `current` when it begins, and hands the same object
 * to `land` when it ends: that costs a request no promise of its own.
 */
export class Flights {
  current: Flight = { count: 0, onLanded: undefined };
  #earlier: Promise<void> | undefined;

  /** Counts a call until its promise settles. */
  track<T>(call: Promise<T>): Promise<T> {
    const flight = this.current;
    flight.count += 1;
    return call.finally(() => land(flight));
  }

  /** Resolves when every call that has begun by now has ended; undefined if none is under way. Later calls are not waited for. */
  landed(): Promise<void> | undefined {
    const flight = this.current;
    if (flight.count === 0) return this.#earlier;
    this.current = { count: 0, onLanded: undefined };
    const own = new Promise<void>((resolve) => {
      flight.onLanded = resolve;
    });
    const all = Promise.all([this.#earlier, own]).then(() => {
      if (this.#earlier === all) this.#earlier = undefined;
    });
    this.#earlier = all;
    return all;
  }
}

/** Ends one call of a flight. */
export function land(flight: Flight): void {
  flight.count -= 1;
  if (flight.count === 0) flight.onLanded?.();
}
