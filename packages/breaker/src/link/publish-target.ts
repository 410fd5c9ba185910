import { toMilliseconds } from "@headgate/core/internal";
import {
  haveCallsSubscribers,
  haveSnapshotsSubscribers,
  publishCall,
  publishSnapshot,
  publishStateChange,
} from "../channels.ts";
import type { BreakerState } from "../machine/period.ts";
import { OPEN, STATES } from "../machine/period.ts";
import type { OutcomeCode } from "../machine/window.ts";
import type { View } from "./view.ts";
import { causeOf, isNew, ratesOf, stateOf, toSnapshot } from "./view.ts";

/** The names that every message about a target carries. */
export interface TargetNames {
  readonly breaker: string;
  readonly target: string;
}

/** Publishes how a call ended. */
export function publishOutcome(names: TargetNames, code: OutcomeCode): void {
  if (!haveCallsSubscribers()) return;
  const outcome = (code & 1) === 1 ? "failure" : "success";
  publishCall({ ...names, outcome, slow: code > 1 });
}

/** Publishes a snapshot, and before it the change of state, if there is one. `before` is the kind of the last view. */
export function publishView(names: TargetNames, before: number, view: View): void {
  if (before !== view.kind) {
    const cause = causeOf(view);
    publishStateChange({
      ...names,
      from: STATES[before] as BreakerState,
      to: stateOf(view),
      here: isNew(view),
      ...cause,
      ...ratesOf(cause),
      opened: view.opened,
      openForMs: view.kind === OPEN ? toMilliseconds(view.ends - view.learned) : 0,
      degraded: view.degraded,
    });
  }
  if (haveSnapshotsSubscribers()) publishSnapshot({ ...names, ...toSnapshot(view) });
}
