import type { StoreMonitor } from "../health/store-monitor.ts";
import type { CountingStore } from "../store/store.ts";
import type { ControlRecord, Invalidation } from "./record.ts";

/** The control record of a prefix as one limiter follows it. */
export interface LimiterControl {
  /** The latest record known to the process, shared by all limiters of the client and prefix. */
  readonly cache: Pick<SharedControl, "record" | "refreshDueAt" | "now">;
  /**
   * Reads the record again in the background when it is due, about every second. A decision made when it is due calls this
   * first and waits for the promise, if there is one, so that its record is at most about two seconds old. Waits at most
   * `storeTimeout`; if the record cannot be read, the latest known one stays in force. The promise never rejects.
   */
  refresh(): Promise<void> | undefined;
  /** Calls back with each new record, before its invalidations are applied. */
  onRecord(callback: (record: ControlRecord) => void): void;
  /** Calls back with the key of each invalidated counter, and without a key if everything is invalidated. */
  onInvalidation(callback: (key?: string) => void): void;
  /** Stops following the record. */
  stop(): void;
}

/** The latest control record of a client and prefix, shared by all limiters of the process that use them. */
export interface SharedControl {
  readonly record: ControlRecord;
  /**
   * The time from which on a decision has to call `refresh` first, in milliseconds of `performance.now()`. A field, because
   * every decision reads it.
   */
  readonly refreshDueAt: number;
  /** The server's clock in microseconds, extrapolated from the last read with this process's monotonic clock. */
  now(): number;
  /** Like `refresh` of a limiter; `deps` are the limiter's store and monitor. */
  refresh(deps: ControlDeps): Promise<void> | undefined;
  /**
   * Calls a follower with each record that is read, until the returned function is called or the follower is
   * collected.
   */
  follow(follower: Follower): () => void;
}

/** Is called with each control record that is read. */
export interface Follower {
  onUpdate(update: ControlUpdate): void;
}

export interface ControlDeps {
  readonly store: CountingStore;
  readonly monitor: StoreMonitor;
}

/** A record that was read, and its changes since the last one. */
export interface ControlUpdate {
  readonly record: ControlRecord;
  readonly invalidations: readonly Invalidation[];
  /** Whether older invalidations were dropped from the record to make room, so that all cached state must be dropped. */
  readonly invalidatesAll: boolean;
}
