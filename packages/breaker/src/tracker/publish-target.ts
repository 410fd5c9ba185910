import { toMilliseconds } from "@headgate/core/internal";
import {
  hasCallSubscribers,
  hasSnapshotSubscribers,
  publishCall,
  publishSnapshot,
  publishStateChange,
} from "../channels.ts";
import type { BreakerState } from "../machine/period.ts";
import { OPEN, STATES } from "../machine/period.ts";
import type { OutcomeCode } from "../machine/window.ts";
import type { TargetView } from "./target-view.ts";
import { causeOf, isNewPeriod, ratesOf, stateOf, toSnapshot } from "./target-view.ts";

/** The names that every message about a target carries. */
export interface TargetLabels {
  readonly breaker: string;
  readonly target: string;
}

/** Publishes how a call ended. */
export function publishOutcome(labels: TargetLabels, code: OutcomeCode): void {
  if (!hasCallSubscribers()) return;
  const outcome = (code & 1) === 1 ? "failure" : "success";
  publishCall({ ...labels, outcome, slow: code > 1 });
}

/** Publishes a snapshot, and before it the change of state, if there is one. `before` is the kind of the last view. */
export function publishView(labels: TargetLabels, before: number, view: TargetView): void {
  if (before !== view.kind) {
    const cause = causeOf(view);
    publishStateChange({
      ...labels,
      from: STATES[before] as BreakerState,
      to: stateOf(view),
      here: isNewPeriod(view),
      ...cause,
      ...ratesOf(cause),
      opened: view.opened,
      openForMs: view.kind === OPEN ? toMilliseconds(view.changesAt - view.receivedAt) : 0,
      degraded: view.degraded,
    });
  }
  if (hasSnapshotSubscribers()) publishSnapshot({ ...labels, ...toSnapshot(view) });
}
