import type { ControlRecord } from "./record.ts";

/** The control record as a process knows it. */
export interface ControlView {
  readonly record: ControlRecord;
  /** Microseconds on the server's clock, as far as this process's own, which goes on while the server is away, can tell. */
  now(): number;
}

/** Where a store's processes learn what their operator orders. */
export interface Control {
  /** What is known now; a promise where that is too old, and the server is asked. It never rejects. */
  current(): ControlView | Promise<ControlView>;
}
