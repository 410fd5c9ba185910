import type { Counter } from "../operations/counter.ts";

/** The slots that a decision took, one or more in each concurrency limit. */
export interface SlotHandle {
  /** Aborts when a slot is lost, or when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Records that the store granted the slots. */
  markGranted(): void;
  /** Renews the slots until they are released, lost or abandoned. Skips a renewal if `isNeeded` returns false. */
  startRenewing(isNeeded?: () => boolean): void;
  /** Stops renewing the slots and aborts `signal`, because the client has disconnected. */
  abandon(): void;
  /**
   * Releases the slots, once. Resolves with true if one of them was still held. Rejects with the store's errors: then the release
   * can be repeated; otherwise the slots expire.
   */
  release(): Promise<boolean>;
}

/** The part of a store that holds slots. */
export interface SlotStore {
  /** The time in microseconds on the store's clock in this process. */
  now(): number;
  /**
   * Renews the slots of some holders in a counter, or releases them if `renews` is false. Resolves with whether each holder still
   * had its slot. Rejects with the store's errors.
   */
  renewOrRelease(
    counter: Counter,
    holders: readonly string[],
    renews: boolean,
  ): Promise<readonly boolean[]>;
}
