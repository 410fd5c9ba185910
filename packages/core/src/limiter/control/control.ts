import type { ControlRecord, Order } from "../../control/record.ts";
import type { Store } from "../../store/store.ts";
import type { StoreWatch } from "../outage/outage.ts";

/** What a limiter knows of the control record of its prefix. */
export interface LimiterControl {
  /**
   * Called before each decision, which may go on at once where it returns undefined: the record is read about every second, in the
   * background. What is older than about two seconds is waited for, no longer than `storeTimeout`; where it cannot be read, what was
   * known last holds. The promise never rejects.
   */
  refresh(): Promise<void> | undefined;
  /** The record as it is known. */
  readonly record: ControlRecord;
  /** The server's clock in microseconds, from when the record was read last, and by this process's monotonic clock since then. */
  now(): number;
  /** Calls back with the key of each counter that an order is about, and without one when it is about everything. */
  onOrder(callback: (key?: string) => void): void;
  /** Hears of no order any more. */
  stop(): void;
}

/** What is known of a control record in a process, by all who share its store's client and prefix. */
export interface Control extends Pick<LimiterControl, "record" | "now"> {
  /** As `refresh` of a limiter, which brings its store and how that is watched. */
  refresh(place: ControlPlace): Promise<void> | undefined;
  /** Calls back when a record is read that brought something, until the function that is returned is called. */
  follow(follower: (news: ControlNews) => void): () => void;
}

export interface ControlPlace {
  readonly store: Store;
  readonly watch: StoreWatch;
}

/** What a record that was read says, and the one before did not. */
export interface ControlNews {
  readonly record: ControlRecord;
  readonly orders: readonly Order[];
  /** Whether there were more orders than a record holds: all that is remembered is to be dropped. */
  readonly isAll: boolean;
}
