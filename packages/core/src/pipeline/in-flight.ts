import { withTimeout } from "../store/with-timeout.ts";

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
  readonly #maxWaitMs: number | undefined;
  #earlier: Promise<void> | undefined;

  /** `maxWaitMs` is the longest that `allDone` waits, for calls that may never end. Default: as long as it takes. */
  constructor(maxWaitMs?: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Counts a call until its promise settles. */
  track<T>(call: Promise<T>): Promise<T> {
    const calls = this.current;
    calls.count += 1;
    return call.finally(() => endCall(calls));
  }

  /**
   * Resolves when every call in progress now has ended, or after `maxWaitMs`; undefined if there is none. Does not wait for later
   * calls.
   */
  allDone(): Promise<void> | undefined {
    const ended = this.#allEnded();
    if (ended === undefined || this.#maxWaitMs === undefined) return ended;
    return withTimeout(this.#maxWaitMs, ended, () => {});
  }

  #allEnded(): Promise<void> | undefined {
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

/** How long `close` waits for requests whose callbacks (`key`, `skip`, `cost` and the like) may never settle, in milliseconds. */
const MAX_REQUEST_WAIT_MS = 1_000;

/** The HTTP requests that are being decided. */
export function createRequestsInFlight(): InFlight {
  return new InFlight(MAX_REQUEST_WAIT_MS);
}

/** Records that one call has ended. */
export function endCall(calls: CallsInProgress): void {
  calls.count -= 1;
  if (calls.count === 0) calls.onDone?.();
}
