import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";

/**
 * Calls that wait for admission. Calls with the same key, which have the same counters, form a queue of their own: first come,
 * first served, with one attempt at a time.
 */
export interface WaitQueue {
  /**
   * Waits in the queue of a key, and resolves with the first decision that allows the call. Rejects with `HEADGATE_QUEUE_FULL`,
   * `HEADGATE_WAIT_TIMEOUT`, the signal's reason, and the errors of an attempt.
   */
  enter(key: string, attempt: () => Promise<Decision>, options: EnterOptions): Promise<Decision>;
  /** Makes the calls that wait for a counter, by the counter's key, try again now; without a key, all calls. */
  wake(counterKey?: string): void;
  /** The last denial in the queue of a key; undefined if no denied call waits in it. */
  lastDenial(key: string): Denial | undefined;
  /** Rejects the calls of a group, those waiting and all later ones. Without a group, rejects all waiting calls. */
  close(error: HeadgateError, group?: WaiterGroup): void;
}

/** The waiting calls of one limiter, among several that share a queue. */
export interface WaiterGroup {
  /** The error with which calls of the group are rejected since it was closed. */
  closeError: HeadgateError | undefined;
}

/** How a call waits. */
export interface EnterOptions {
  /** The group of the call. */
  readonly group?: WaiterGroup | undefined;
  /** The longest wait, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Calls back when a slot that the call needs is released, until the returned function is called. */
  readonly onRelease?: ((wake: () => void) => () => void) | undefined;
  /**
   * Calls back when the limits of the call have changed, so that its last denial no longer applies, until the returned function is
   * called.
   */
  readonly onLimitsChange?: ((wake: () => void) => () => void) | undefined;
  /** The maximum number of calls with the same key, including this one. Default: no limit. */
  readonly maxPerKey?: number | undefined;
  /** The denial that the call received before it entered the queue. Default: none. */
  readonly denial?: Denial | undefined;
  /** Whether a denial ends the wait. Default: no denial does. */
  readonly isFinal?: ((decision: Decision) => boolean) | undefined;
}

/** A denied attempt of a waiting call. */
export interface Denial {
  readonly decision: Decision;
  /** When the denial was received, in microseconds of `store.now()`. */
  readonly receivedAt: number;
}

/** Watches whether the client of a waiting request disconnects. */
export interface DisconnectWatch {
  /** Aborts when the wait must end: the client has disconnected, or no request may wait any more. */
  readonly signal: AbortSignal;
  /** Whether the client has disconnected; it may be known before the signal aborts. */
  isDisconnected(): boolean;
  stop(): void;
}

/** How a request waits that gets a decision in any case. */
export interface QueueWaitOptions {
  /** The longest wait, in milliseconds. */
  readonly timeoutMs: number;
  /** Called when the request begins to wait, and not before. */
  watchDisconnect(): DisconnectWatch;
}

/** The decision on a request that may have waited. */
export interface QueuedDecision {
  readonly decision: Decision;
  /** How long the request waited, in milliseconds with fractions; undefined if it did not wait. */
  readonly waitedMs: number | undefined;
}
