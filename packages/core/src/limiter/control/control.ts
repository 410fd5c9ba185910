import type { ControlRecord, Order } from "../../control/record.ts";
import type { Store } from "../../store/store.ts";
import type { StoreWatch } from "../outage/outage.ts";

/** What a limiter knows about the control record of its prefix. */
export interface LimiterControl {
  /**
   * Called before each decision, which may go on at once if it returns undefined: the record is read about every second, in the
   * background. If it is older than about two seconds, a new one is waited for, at most `storeTimeout`; if it cannot be read, what was
   * known last stays in force. The promise never rejects.
   */
  refresh(): Promise<void> | undefined;
  /** The record as it is known. */
  readonly record: ControlRecord;
  /** What the process knows, for all limiters of the client and prefix. */
  readonly known: Pick<Control, "record" | "now">;
  /** The server's clock in microseconds, from when the record was read last, and by this process's monotonic clock since then. */
  now(): number;
  /** Calls back with the key of each counter that an order affects, and without one if it affects everything. */
  onOrder(callback: (key?: string) => void): void;
  /** Stops listening to orders. */
  stop(): void;
}

/** What a process knows about a control record, shared by all that use its store's client and prefix. */
export interface Control extends Pick<LimiterControl, "record" | "now"> {
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
  readonly store: Store;
  readonly watch: StoreWatch;
}

/** What is new in a record that was read. */
export interface ControlNews {
  readonly record: ControlRecord;
  readonly orders: readonly Order[];
  /** Whether there were more orders than a record holds, so that everything remembered must be dropped. */
  readonly isAll: boolean;
}
