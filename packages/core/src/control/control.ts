import type { StoreMonitor } from "../health/store-health.ts";
import type { CountingStore } from "../store/store.ts";
import type { ControlRecord, Invalidation } from "./record.ts";

/** What a limiter knows about the control record of its prefix. */
export interface LimiterControl {
  /** The latest record known to the process, shared by all limiters of the client and prefix. */
  readonly cache: Pick<Control, "record" | "refreshDueAt" | "now">;
  /**
   * Reads the record again in the background when it is due, about every second. A decision made when it is due calls this
   * first and waits for the promise, if there is one, so that its record is at most about two seconds old. Waits at most
   * `storeTimeout`; if the record cannot be read, the latest known one stays in force. The promise never rejects.
   */
  refresh(): Promise<void> | undefined;
  /** Calls back with each new record, before its orders are carried out. */
  onRecord(callback: (record: ControlRecord) => void): void;
  /** Calls back with the key of each counter that an order affects, and without one if it affects everything. */
  onInvalidation(callback: (key?: string) => void): void;
  /** Stops listening to orders. */
  stop(): void;
}

/** What a process knows about a control record, shared by all that use its store's client and prefix. */
export interface Control {
  readonly record: ControlRecord;
  /**
   * From when on a decision has to call `refresh` first, in milliseconds of `performance.now()`. A field, since every decision
   * reads it.
   */
  readonly refreshDueAt: number;
  /** The server's clock in microseconds, extrapolated from the last read with this process's monotonic clock. */
  now(): number;
  /** Like `refresh` of a limiter, which passes its store and its monitor. */
  refresh(place: ControlDeps): Promise<void> | undefined;
  /**
   * Passes the news of each record that is read to a follower, until the returned function is called or the follower is
   * collected.
   */
  follow(follower: Follower): () => void;
}

/** Receives the news of a control record. */
export interface Follower {
  onUpdate(news: ControlUpdate): void;
}

export interface ControlDeps {
  readonly store: CountingStore;
  readonly monitor: StoreMonitor;
}

/** The news in a record that was read. */
export interface ControlUpdate {
  readonly record: ControlRecord;
  readonly invalidations: readonly Invalidation[];
  /** Whether orders were dropped from the record for lack of room, so that everything cached must be dropped. */
  readonly invalidatesAll: boolean;
}
