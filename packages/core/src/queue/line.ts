import type { Decision } from "../base/decision.ts";
import type { HeadgateError } from "../base/errors.ts";

/** Calls that wait for admission: first come, first served per line, one attempt at a time. */
export interface WaitQueue {
  /**
   * Resolves with the first decision that allows. `line` is where the call waits. Rejects with `HEADGATE_QUEUE_FULL`,
   * `HEADGATE_WAIT_TIMEOUT`, the signal's reason, and what an attempt rejects with.
   */
  enter(line: string, attempt: () => Promise<Decision>, options: WaitOptions): Promise<Decision>;
  /** Makes the calls that wait for a counter, by its key, ask again now; without a key, all calls. */
  wake(key?: string): void;
  /** A line's last denial; undefined if no call that was denied waits. */
  lastDenial(line: string): Denial | undefined;
  /** Rejects the calls that wait, and those that come later, of these waiters. Default: all that wait now. */
  close(error: HeadgateError, waiters?: Waiters): void;
}

/** The calls that wait by one of several limiters that share a queue. */
export interface Waiters {
  /** Why none of them may wait any more. */
  ended: HeadgateError | undefined;
}

export interface WaitOptions {
  /** Those with whom the call waits. */
  readonly waiters?: Waiters | undefined;
  /** Milliseconds after which the wait ends. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Calls back when something comes free at an unforeseeable time, until the returned function is called. */
  readonly onFreed?: ((wake: () => void) => () => void) | undefined;
  /** Calls back when what is asked has changed, so that its last answer is void, until the returned function is called. */
  readonly onChange?: ((wake: () => void) => () => void) | undefined;
  /** How many may wait in the line, this call included. Default: any number. */
  readonly maxLine?: number | undefined;
  /** What the call was denied before it entered. Default: it has not asked yet. */
  readonly denial?: Denial | undefined;
  /** Which decisions end the wait, beside those that allow. Default: none. */
  readonly isAnswer?: ((decision: Decision) => boolean) | undefined;
}

export interface Denial {
  readonly decision: Decision;
  /** When it was known, in microseconds of the store's `store.now()`. */
  readonly at: number;
}

/** The client that waits for an answer, watched from the moment it begins to wait. */
export interface Leaving {
  /** Aborts when the wait must end: because nobody waits for the answer any more, or because waiting is over for all. */
  readonly signal: AbortSignal;
  /** Whether nobody waits for the answer any more; it may be known before the signal aborts. */
  hasLeft(): boolean;
  stop(): void;
}

/** How a call waits that is answered in any case. */
export interface TurnOptions {
  /** Milliseconds in line, at most. */
  readonly timeoutMs: number;
  /** Called when the call begins to wait, and not before. */
  watchLeaving(): Leaving;
}

export interface Turn {
  readonly decision: Decision;
  /** Milliseconds in line, with fractions; undefined for a call that did not wait. */
  readonly waitedMs: number | undefined;
}
