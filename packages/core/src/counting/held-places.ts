import type { Counter } from "../store/counter.ts";

/** The places that a decision took, one of each limit of places. */
export interface HeldPlaces {
  /** Aborts when a place is lost, or its client has left. */
  readonly signal: AbortSignal;
  /** Notes that the store gave them. */
  hold(): void;
  /** Renews the places from now on, until they are given back, lost, or left. A renewal is left out while `isNeeded` returns false. */
  keep(isNeeded?: () => boolean): void;
  /** Notes that whom they are held for has left: they are renewed no more, and `signal` aborts. */
  leave(): void;
  /**
   * Gives them back, once; true if one of them was still held. Rejects as the store does: then they lapse, or can be given back
   * again.
   */
  release(): Promise<boolean>;
}

/** What is asked of the places of a store. */
export interface PlaceStore {
  /** Microseconds, on a clock of this process. */
  now(): number;
  /** Renews places of a counter, or gives them back; says of each holder whether its place was there. Rejects as the store does. */
  tend(counter: Counter, holders: readonly string[], renews: boolean): Promise<readonly boolean[]>;
}
