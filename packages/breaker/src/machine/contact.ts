import type { Operation } from "@headgate/core/internal";
import { contactLua } from "./lua.generated.ts";
import { acceptsOutcomes, openIfThresholdsExceeded } from "./period.ts";
import type { TargetKeys } from "./target.ts";
import { createTargetOperation, emptyWindow, loadTarget, saveTarget } from "./target.ts";
import { endTrialCall, requestCall } from "./trial-calls.ts";
import type { OutcomeBatch } from "./window.ts";

export interface SyncRequest {
  readonly target: TargetKeys;
  /** The period in which the calls were admitted; -1 for any. */
  readonly admittedIn: number;
  /** How they ended, in a batch of the policy's window; undefined for none. */
  readonly outcomes: OutcomeBatch | undefined;
  /** The lease of a trial call; 0 for none. */
  readonly lease: number;
  /** How that ended: an outcome's code, or -1 for a call that says nothing. */
  readonly outcome: number;
  /** Whether one more call is asked for. */
  readonly requestsCall: boolean;
}

/** Contacts a target: reports how calls ended, asks for one more, and learns its state. contact.lua documents the reply. */
export const syncTarget: Operation<SyncRequest> = createTargetOperation(
  "contact",
  contactLua,
  ({ admittedIn, outcomes, lease, outcome, requestsCall }) => [
    ...[admittedIn, String(outcomes ?? ""), lease, outcome],
    requestsCall ? 1 : 0,
  ],
  ({ target, admittedIn, outcomes, lease, outcome, requestsCall }, memory, context) => {
    const { policy } = target;
    const { now } = context;
    const loaded = loadTarget(target, memory, context);
    const { period, id } = loaded;
    if (outcomes !== undefined && acceptsOutcomes(period, admittedIn)) {
      policy.window.add(loaded.window, outcomes, now, policy.windowSize);
      loaded.isWindowDirty = true;
      openIfThresholdsExceeded(period, policy, id, now, loaded.window);
    }
    if (lease !== 0 && endTrialCall(period, policy, id, now, lease, outcome)) {
      emptyWindow(loaded, policy, now);
    }
    const permit = requestsCall ? requestCall(period, policy, id, now) : 0;
    return saveTarget(target, loaded, memory, now, permit);
  },
);
