import type { Decision } from "../../decision.ts";
import type { HeadgateError } from "../../errors.ts";

/** Calls that wait for admission: first come, first served per line, one attempt at a time. */
export interface WaitQueue {
  /**
   * Resolves with the first decision that allows. `line` is whom the call waits with. Rejects with `HEADGATE_QUEUE_FULL`,
   * `HEADGATE_WAIT_TIMEOUT`, the signal's reason, and what an attempt rejects with.
   */
  enter(line: string, attempt: () => Promise<Decision>, options: WaitOptions): Promise<Decision>;
  /** Has those who wait for a counter, by its key, ask again now; without a key, everybody who waits. */
  wake(key?: string): void;
  /** What a line was denied last; undefined where nobody waits who was denied. */
  lastDenial(line: string): Denial | undefined;
  /** Rejects everybody who waits. */
  close(error: HeadgateError): void;
}

export interface WaitOptions {
  /** Milliseconds after which the wait is given up. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Calls back when something comes free that nobody knew the time of, until the function that is returned is called. */
  readonly onFreed?: ((wake: () => void) => () => void) | undefined;
  /** Calls back when what is asked has changed, so that its last answer says nothing any more; the same. */
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

/** Who waits for an answer, watched from when it begins to wait. */
export interface Leaving {
  /** Aborts when the wait is to end: nobody waits for the answer any more, or nobody is to wait for longer. */
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
