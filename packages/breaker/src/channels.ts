import { channel } from "node:diagnostics_channel";
import type { HeadgateError } from "@headgate/core";
import { publish } from "@headgate/core/internal";
import type { BreakerState } from "./machine/period.ts";
import type { Outcome, Snapshot } from "./snapshot.ts";

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

const stateChanges = channel(BREAKER_CHANNELS.state);
const rejectedCalls = channel(BREAKER_CHANNELS.rejected);
const degradedBreakers = channel(BREAKER_CHANNELS.degraded);
const breakerCalls = channel(BREAKER_CHANNELS.call);
const breakerSnapshots = channel(BREAKER_CHANNELS.snapshot);

export function publishStateChange(change: BreakerStateChange): void {
  publish(stateChanges, change);
}

export function publishDegraded(degraded: DegradedBreaker): void {
  publish(degradedBreakers, degraded);
}

/** Creates the message only for subscribers, because there may be many. */
export function publishRejected(createMessage: () => RejectedCall): void {
  if (rejectedCalls.hasSubscribers) publish(rejectedCalls, createMessage());
}

/** Whether calls have subscribers: each call is a message. */
export function hasCallSubscribers(): boolean {
  return breakerCalls.hasSubscribers;
}

export function publishCall(call: BreakerCall): void {
  publish(breakerCalls, call);
}

/** Whether snapshots have subscribers; they come with each call if counts are in memory. */
export function hasSnapshotSubscribers(): boolean {
  return breakerSnapshots.hasSubscribers;
}

export function publishSnapshot(snapshot: BreakerSnapshot): void {
  publish(breakerSnapshots, snapshot);
}
