import { channel } from "node:diagnostics_channel";
import { publish, toMilliseconds } from "@headgate/core/internal";
import type {
  BreakerCall,
  BreakerSnapshot,
  BreakerStateChange,
  DegradedBreaker,
  RejectedCall,
} from "../channels.ts";
import { BREAKER_CHANNELS } from "../channels.ts";
import type { CountedOutcome } from "../machine/breaker-policy.ts";
import { isFailure, isSlow } from "../machine/breaker-policy.ts";
import type { BreakerState } from "../machine/period.ts";
import type { TargetView } from "./target-view.ts";
import { ratesOf, toSnapshot } from "./target-view.ts";

const stateChanges = channel(BREAKER_CHANNELS.state);
const rejectedCalls = channel(BREAKER_CHANNELS.rejected);
const degradedBreakers = channel(BREAKER_CHANNELS.degraded);
const breakerCalls = channel(BREAKER_CHANNELS.call);
const breakerSnapshots = channel(BREAKER_CHANNELS.snapshot);

/** The names that every message about a target carries. */
export interface TargetLabels {
  readonly breaker: string;
  readonly target: string;
}

/** Publishes how a call ended. */
export function publishOutcome(labels: TargetLabels, outcome: CountedOutcome): void {
  if (!breakerCalls.hasSubscribers) return;
  const slow = isSlow(outcome);
  const call: BreakerCall = {
    ...labels,
    outcome: isFailure(outcome) ? "failure" : "success",
    slow,
  };
  publish(breakerCalls, call);
}

/** Creates the message only for subscribers, because there may be many. */
export function publishRejected(createMessage: () => RejectedCall): void {
  if (rejectedCalls.hasSubscribers) publish(rejectedCalls, createMessage());
}

export function publishDegraded(degraded: DegradedBreaker): void {
  publish(degradedBreakers, degraded);
}

/** Publishes a snapshot, and before it the change of state, if there is one. `before` is the state of the last view. */
export function publishView(labels: TargetLabels, before: BreakerState, view: TargetView): void {
  if (before !== view.state) {
    const change: BreakerStateChange = {
      ...labels,
      from: before,
      to: view.state,
      causedHere: view.isNewPeriod,
      ...view.cause,
      ...ratesOf(view.cause),
      openings: view.openings,
      openForMs: view.state === "open" ? toMilliseconds(view.changesAt - view.receivedAt) : 0,
      degraded: view.degraded,
    };
    publish(stateChanges, change);
  }
  // Views come with each call if counts are in memory.
  if (!breakerSnapshots.hasSubscribers) return;
  const snapshot: BreakerSnapshot = { ...labels, ...toSnapshot(view) };
  publish(breakerSnapshots, snapshot);
}
