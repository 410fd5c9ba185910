import type { FaultClient } from "../clients.ts";

/** Where a decision came from: the store, the deny cache, or the fallback that decides while the store cannot. */
export type DecisionSource = "store" | "cache" | "fallback";

/** The result of one call. Times are from `performance.now()` in this process. */
export interface CallResult {
  readonly isAdmitted: boolean;
  readonly source: DecisionSource;
  /** When the decision was requested and when it was made; over HTTP the server measures both. */
  readonly requestedAt: number;
  readonly decidedAt: number;
}

/** Calls a limiter through an API or an HTTP adapter, with a Redis client of its own. */
export interface Caller {
  readonly name: string;
  readonly client: FaultClient;
  /** Rejects with an exception or an unexpected status, neither of which may reach a client. */
  consume(subject: string): Promise<CallResult>;
  close(): Promise<void>;
}
