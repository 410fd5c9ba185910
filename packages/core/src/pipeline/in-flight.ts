/** Calls in progress that began in one period. */
export interface CallsInProgress {
  count: number;
  /** Called when the last of them has ended; undefined while `close` is not waiting for them. */
  onDone: (() => void) | undefined;
}

/**
 * The calls in progress in a limiter, which `close` waits for. A call increments `current` when it begins and passes the same
 * object to `done` when it ends, so that requests need no additional promise.
 */
export class InFlight {
  current: CallsInProgress = { count: 0, onDone: undefined };
  #earlier: Promise<void> | undefined;

  /** Counts a call until its promise settles. */
  track<T>(call: Promise<T>): Promise<T> {
    const flight = this.current;
    flight.count += 1;
    return call.finally(() => endCall(flight));
  }

  /** Resolves when every call in progress now has ended; undefined if there is none. Does not wait for later calls. */
  allDone(): Promise<void> | undefined {
    const flight = this.current;
    if (flight.count === 0) return this.#earlier;
    this.current = { count: 0, onDone: undefined };
    const own = new Promise<void>((resolve) => {
      flight.onDone = resolve;
    });
    const all = Promise.all([this.#earlier, own]).then(() => {
      if (this.#earlier === all) this.#earlier = undefined;
    });
    this.#earlier = all;
    return all;
  }
}

/** Ends one call of a flight. */
export function endCall(flight: CallsInProgress): void {
  flight.count -= 1;
  if (flight.count === 0) flight.onDone?.();
}
