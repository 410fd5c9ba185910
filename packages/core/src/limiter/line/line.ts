import type { Decision } from "../../decision.ts";
import type { HeadgateError } from "../../errors.ts";

/** Calls that wait for admission: first come, first served per line, one attempt at a time. */
export interface WaitQueue {
  /** Resolves with the first decision that allows. `line` is whom the call waits with. */
  enter(line: string, attempt: () => Promise<Decision>, options: WaitOptions): Promise<Decision>;
  /** Has those who wait for a counter, by its key, ask again now; without a key, everybody who waits. */
  wake(key?: string): void;
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
}
