import type { Counter } from "../operations/counter.ts";

/** The slots taken by a decision, in each concurrency limit. */
export interface SlotHandle {
  /** Aborts when a slot is lost, or its client has disconnected. */
  readonly signal: AbortSignal;
  /** Records that the store granted them. */
  markGranted(): void;
  /** Renews the slots from now on, until they are released, lost or left. Skips renewals while `isNeeded` returns false. */
  startRenewing(isNeeded?: () => boolean): void;
  /** Records that the client has disconnected: the slots are no longer renewed, and `signal` aborts. */
  abandon(): void;
  /**
   * Releases the slots, once; true if one of them was still held. Rejects like the store: then they expire, or can be released
   * again.
   */
  release(): Promise<boolean>;
}

/** The part of a store that keeps slots. */
export interface SlotStore {
  /** The time in microseconds, by a clock of this process. */
  now(): number;
  /** Renews or releases slots of a counter; returns for each holder whether its slot was there. Rejects like the store. */
  renewOrRelease(
    counter: Counter,
    holders: readonly string[],
    renews: boolean,
  ): Promise<readonly boolean[]>;
}
