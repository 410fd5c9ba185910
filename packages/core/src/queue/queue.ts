import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";

/** Calls that wait for admission: first come, first served per line, one attempt at a time. */
export interface WaitQueue {
  /**
   * Resolves with the first decision that allows. `line` is where the call waits. Rejects with `HEADGATE_QUEUE_FULL`,
   * `HEADGATE_WAIT_TIMEOUT`, the signal's reason, and the errors of an attempt.
   */
  enter(key: string, attempt: () => Promise<Decision>, options: WaitOptions): Promise<Decision>;
  /** Makes the calls that wait for a counter, by its key, ask again now; without a key, all calls. */
  wake(key?: string): void;
  /** A line's last denial; undefined if no denied call is waiting. */
  lastDenial(key: string): Denial | undefined;
  /** Rejects the calls of these waiters, now and later. Default: all that wait now. */
  close(error: HeadgateError, waiters?: WaiterGroup): void;
}

/** The waiting calls of one of several limiters that share a queue. */
export interface WaiterGroup {
  /** Why none of them may wait any more. */
  closeError: HeadgateError | undefined;
}

export interface WaitOptions {
  /** The group that the call waits with. */
  readonly group?: WaiterGroup | undefined;
  /** Milliseconds after which the wait ends. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Calls back when something comes free at an unpredictable time, until the returned function is called. */
  readonly onRelease?: ((wake: () => void) => () => void) | undefined;
  /**
   * Calls back when the terms of the call have changed, so that its last answer is void, until the returned function is called.
   */
  readonly onLimitsChange?: ((wake: () => void) => () => void) | undefined;
  /** How many may wait in the line, this call included. Default: any number. */
  readonly maxPerKey?: number | undefined;
  /** The denial that the call got before it entered. Default: it has not asked yet. */
  readonly denial?: Denial | undefined;
  /** Decisions that end the wait besides those that allow. Default: none. */
  readonly isFinal?: ((decision: Decision) => boolean) | undefined;
}

export interface Denial {
  readonly decision: Decision;
  /** When it was received, in microseconds of `store.now()`. */
  readonly receivedAt: number;
}

/** The client that waits for a response, watched from the moment it begins to wait. */
export interface DisconnectWatch {
  /** Aborts when the wait must end: because the client has disconnected, or because waiting is over for all. */
  readonly signal: AbortSignal;
  /** Whether the client has disconnected; it may be known before the signal aborts. */
  isDisconnected(): boolean;
  stop(): void;
}

/** How a call waits that gets an answer in any case. */
export interface QueueWaitOptions {
  /** Milliseconds in line, at most. */
  readonly timeoutMs: number;
  /** Called when the call begins to wait, and not before. */
  watchDisconnect(): DisconnectWatch;
}

export interface QueuedDecision {
  readonly decision: Decision;
  /** Milliseconds in line, with fractions; undefined for a call that did not wait. */
  readonly waitedMs: number | undefined;
}
