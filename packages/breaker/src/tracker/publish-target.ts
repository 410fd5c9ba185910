import { toMilliseconds } from "@headgate/core/internal";
import {
  hasCallSubscribers,
  hasSnapshotSubscribers,
  publishCall,
  publishSnapshot,
  publishStateChange,
} from "../channels.ts";
import type { CountedOutcome } from "../machine/call-outcome.ts";
import { isFailure, isSlow } from "../machine/call-outcome.ts";
import type { BreakerState } from "../machine/period.ts";
import { decodeCause, decodeIsNewPeriod } from "../machine/wire.ts";
import type { TargetView } from "./target-view.ts";
import { ratesOf, toSnapshot } from "./target-view.ts";

/** The names that every message about a target carries. */
export interface TargetLabels {
  readonly breaker: string;
  readonly target: string;
}

/** Publishes how a call ended. */
export function publishOutcome(labels: TargetLabels, outcome: CountedOutcome): void {
  if (!hasCallSubscribers()) return;
  const slow = isSlow(outcome);
  publishCall({ ...labels, outcome: isFailure(outcome) ? "failure" : "success", slow });
}

/** Publishes a snapshot, and before it the change of state, if there is one. `before` is the state of the last view. */
export function publishView(labels: TargetLabels, before: BreakerState, view: TargetView): void {
  if (before !== view.state) {
    const cause = decodeCause(view.reply);
    publishStateChange({
      ...labels,
      from: before,
      to: view.state,
      causedHere: decodeIsNewPeriod(view.reply),
      ...cause,
      ...ratesOf(cause),
      openings: view.openings,
      openForMs: view.state === "open" ? toMilliseconds(view.changesAt - view.receivedAt) : 0,
      degraded: view.degraded,
    });
  }
  if (hasSnapshotSubscribers()) publishSnapshot({ ...labels, ...toSnapshot(view) });
}
