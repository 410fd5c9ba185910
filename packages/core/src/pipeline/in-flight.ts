/** The number of calls in progress among those that began before the same `allDone`. */
export interface CallsInProgress {
  count: number;
  /** Called when the last of these calls has ended; undefined while `close` does not wait for them. */
  onDone: (() => void) | undefined;
}

/**
 * The calls in progress in a limiter, which `close` waits for. A call increments `current.count` when it begins and passes the same
 * object to `endCall` when it ends, so that requests need no additional promise.
 */
export class InFlight {
  current: CallsInProgress = { count: 0, onDone: undefined };
  #earlier: Promise<void> | undefined;

  /** Counts a call until its promise settles. */
  track<T>(call: Promise<T>): Promise<T> {
    const calls = this.current;
    calls.count += 1;
    return call.finally(() => endCall(calls));
  }

  /** Resolves when every call in progress now has ended; undefined if there is none. Does not wait for later calls. */
  allDone(): Promise<void> | undefined {
    const calls = this.current;
    if (calls.count === 0) return this.#earlier;
    this.current = { count: 0, onDone: undefined };
    const own = new Promise<void>((resolve) => {
      calls.onDone = resolve;
    });
    const all = Promise.all([this.#earlier, own]).then(() => {
      if (this.#earlier === all) this.#earlier = undefined;
    });
    this.#earlier = all;
    return all;
  }
}

/** Records that one call has ended. */
export function endCall(calls: CallsInProgress): void {
  calls.count -= 1;
  if (calls.count === 0) calls.onDone?.();
}
