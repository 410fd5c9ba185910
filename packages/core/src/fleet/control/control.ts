import type { StoreWatch } from "../../reach/outage.ts";
import type { CountingStore } from "../../store/store.ts";
import type { ControlRecord, Order } from "./record.ts";

/** What a limiter knows about the control record of its prefix. */
export interface LimiterControl {
  /** The record that the process knows, for all limiters of the client and prefix. */
  readonly known: Pick<Control, "record" | "due" | "now">;
  /**
   * Reads the record again in the background where it is due, about every second. A decision that is made when it is due calls it
   * first, and waits for the promise if there is one: the record is then older than about two seconds. It waits at most
   * `storeTimeout`; if the record cannot be read, the one that is known stays in force. The promise never rejects.
   */
  refresh(): Promise<void> | undefined;
  /** Calls back with each new record, before its orders are followed. */
  onRecord(callback: (record: ControlRecord) => void): void;
  /** Calls back with the key of each counter that an order affects, and without one if it affects everything. */
  onOrder(callback: (key?: string) => void): void;
  /** Stops listening to orders. */
  stop(): void;
}

/** What a process knows about a control record, shared by all that use its store's client and prefix. */
export interface Control {
  readonly record: ControlRecord;
  /** When a decision has to call `refresh` first, in milliseconds of `performance.now()`. A field, since each decision reads it. */
  readonly due: number;
  /** The server's clock in microseconds, from the last time the record was read, and by this process's monotonic clock since then. */
  now(): number;
  /** As `refresh` of a limiter, which brings its store and how that is watched. */
  refresh(place: ControlPlace): Promise<void> | undefined;
  /** Tells a follower what a record brought that was read, until the function that is returned is called, or the follower is collected. */
  follow(follower: Follower): () => void;
}

/** What hears the news of a control record. */
export interface Follower {
  hear(news: ControlNews): void;
}

export interface ControlPlace {
  readonly store: CountingStore;
  readonly watch: StoreWatch;
}

/** What is new in a record that was read. */
export interface ControlNews {
  readonly record: ControlRecord;
  readonly orders: readonly Order[];
  /** Whether there were more orders than a record holds, so that everything remembered must be dropped. */
  readonly isAll: boolean;
}
