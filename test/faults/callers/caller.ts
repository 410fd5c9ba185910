import type { FaultClient } from "../clients.ts";

/** Who took a decision: the store, a memory of what the store had said, or whoever stands in for a store that cannot. */
export type Taker = "store" | "cache" | "fallback";

/** What came of one question. Moments are of `performance.now()` in this process. */
export interface Answer {
  readonly isAdmitted: boolean;
  readonly takenBy: Taker;
  /** When the decision was asked for and when it was there; over HTTP both are taken in the server. */
  readonly decidedFrom: number;
  readonly decidedAt: number;
}

/** Something that asks a limiter, in its own way, through a client of its own. */
export interface Caller {
  readonly name: string;
  readonly client: FaultClient;
  /** Rejects with what must never reach a client: an exception, or a status that nobody asked for. */
  ask(subject: string): Promise<Answer>;
  close(): Promise<void>;
}
