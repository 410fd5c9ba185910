import type { BreakerState } from "./machine/period.ts";

/** How a call ended. */
export type Outcome = "success" | "failure";

/** The state and the counts of a target. */
export interface Snapshot {
  readonly state: BreakerState;
  /** The calls in the window: successes and failures; slow calls are some of both. */
  readonly calls: number;
  readonly successes: number;
  readonly failures: number;
  readonly slowCalls: number;
  /** The share of successes, 0 to 1; null without calls. */
  readonly successRate: number | null;
  /** The share of slow calls, 0 to 1; null without calls. */
  readonly slowCallRate: number | null;
  /** How often it opened in a row, without closing in between. */
  readonly openings: number;
  /** Milliseconds until trial calls are allowed, rounded up; 0 if it is not open. */
  readonly retryAfterMs: number;
  /** True if the store did not reply: these are the state and the calls of this process only. */
  readonly degraded: boolean;
}
