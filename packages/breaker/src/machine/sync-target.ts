import type { Operation } from "@headgate/core/internal";
import { REJECTED } from "./call-decision.ts";
import { syncTargetLua } from "./lua.generated.ts";
import type { AdmittedPeriod } from "./period.ts";
import { acceptsOutcomes, openIfThresholdsExceeded } from "./period.ts";
import type { TargetKeys } from "./target.ts";
import { createTargetOperation, emptyWindow, loadTarget, saveTarget } from "./target.ts";
import type { EndedTrialCall } from "./trial-calls.ts";
import { endTrialCall, requestCall } from "./trial-calls.ts";
import type { OutcomeBatch } from "./window.ts";
import { encodeAdmittedPeriod, encodeOutcome } from "./wire.ts";

export interface SyncRequest {
  readonly target: TargetKeys;
  /** The period in which the calls were admitted. */
  readonly admittedIn: AdmittedPeriod;
  /** Their outcomes, in a batch of the policy's window; undefined for none. */
  readonly outcomes: OutcomeBatch | undefined;
  readonly endedTrial: EndedTrialCall | undefined;
  /** Whether it requests a call. */
  readonly requestsCall: boolean;
}

/** Reports how calls of a target ended, requests a call, and reads the target's state. sync-target.lua documents the reply. */
export const syncTarget: Operation<SyncRequest> = createTargetOperation(
  "sync-target",
  syncTargetLua,
  ({ admittedIn, outcomes, endedTrial, requestsCall }) => [
    encodeAdmittedPeriod(admittedIn),
    String(outcomes ?? ""),
    endedTrial === undefined ? 0 : endedTrial.leaseId,
    endedTrial === undefined ? 0 : encodeOutcome(endedTrial.outcome),
    requestsCall ? 1 : 0,
  ],
  ({ target, admittedIn, outcomes, endedTrial, requestsCall }, memory, context) => {
    const { policy } = target;
    const { now } = context;
    const loaded = loadTarget(target, memory, context);
    const { period, id } = loaded;
    if (outcomes !== undefined && acceptsOutcomes(period, admittedIn)) {
      policy.window.add(loaded.window, outcomes, now, policy.windowSize);
      loaded.isWindowDirty = true;
      openIfThresholdsExceeded(period, policy, id, now, loaded.window);
    }
    if (endedTrial !== undefined && endTrialCall(period, policy, id, now, endedTrial)) {
      emptyWindow(loaded, policy, now);
    }
    const decision = requestsCall ? requestCall(period, policy, id, now) : REJECTED;
    return saveTarget(target, loaded, memory, now, decision);
  },
);
