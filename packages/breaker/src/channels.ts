import type { HeadgateError } from "@headgate/core";
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

/**
 * The names under which breakers publish on `node:diagnostics_channel`. The messages are `BreakerStateChange`,
 * `RejectedCall`, `DegradedBreaker`, `BreakerCall` and `BreakerSnapshot`.
 */
export const BREAKER_CHANNELS = {
  /** The state of a target changed, as this process sees it. */
  state: "headgate:breaker:state",
  /** A call was rejected. */
  rejected: "headgate:breaker:rejected",
  /** The store did not reply: this process decides by itself until it does. */
  degraded: "headgate:breaker:degraded",
  /** The outcome of a call is known. */
  call: "headgate:breaker:call",
  /** This process received the state and the counts of a target. */
  snapshot: "headgate:breaker:snapshot",
} as const;

/** Published on `headgate:breaker:state`, once in each process of the fleet. */
export interface BreakerStateChange {
  /** The breaker's name. */
  readonly breaker: string;
  readonly target: string;
  readonly from: BreakerState;
  readonly to: BreakerState;
  /**
   * Whether this process caused the change: true in at most one process of the fleet, and in none if that process
   * ignored the reply because it came too late, or after a later one.
   */
  readonly causedHere: boolean;
  /** The number of calls that caused it, in the window or trial calls; `failures` and `slowCalls` are some of them. */
  readonly calls: number;
  readonly failures: number;
  readonly slowCalls: number;
  /** The share of successes among them, 0 to 1; null without calls. */
  readonly successRate: number | null;
  /** The share of slow calls among them, 0 to 1; null without calls. */
  readonly slowCallRate: number | null;
  /** How often it opened in a row. */
  readonly openings: number;
  /** How long it will be open: milliseconds, rounded up; 0 if it is not open, or if that is not known. */
  readonly openForMs: number;
  /** True if it is the state of this process only, because the store does not reply. */
  readonly degraded: boolean;
}

/** Published on `headgate:breaker:rejected`: a call was rejected. */
export interface RejectedCall {
  readonly breaker: string;
  readonly target: string;
  readonly state: BreakerState;
  readonly retryAfterMs: number;
  readonly degraded: boolean;
}

/** Published on `headgate:breaker:degraded`, once for each target and outage: the store did not reply. */
export interface DegradedBreaker {
  readonly breaker: string;
  readonly target: string;
  /** The reason for the missing reply; its `code` identifies it. */
  readonly reason: HeadgateError;
}

/** Published on `headgate:breaker:call`, in every state: how a call ended. */
export interface BreakerCall {
  readonly breaker: string;
  readonly target: string;
  readonly outcome: Outcome;
  /** Whether it took longer than `slowCall`. */
  readonly slow: boolean;
}

/** Published on `headgate:breaker:snapshot` after each report to the store: the state and the counts of a target. */
export interface BreakerSnapshot extends Snapshot {
  readonly breaker: string;
  readonly target: string;
}
