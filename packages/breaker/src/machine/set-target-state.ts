import type { Operation } from "@headgate/core/internal";
import { REJECTED } from "./call-decision.ts";
import { setTargetStateLua } from "./lua.generated.ts";
import type { BreakerState } from "./period.ts";
import { beginClosed, beginHalfOpen, beginManualState, beginOpen } from "./period.ts";
import type { TargetKeys } from "./target.ts";
import { createTargetOperation, emptyWindow, loadTarget, saveTarget } from "./target.ts";
import { encodeState } from "./wire.ts";

export interface SetStateRequest {
  readonly target: TargetKeys;
  readonly state: BreakerState;
  /** Microseconds that an open period lasts, or the ramp of a closed one. */
  readonly durationMicros: number;
  /** Openings in a row after the change. */
  readonly openings: number;
  /** Whether the window is emptied. */
  readonly emptiesWindow: boolean;
}

/** Sets the state of a target by hand. The reply has the format of `syncTarget`. */
export const setTargetState: Operation<SetStateRequest> = createTargetOperation(
  "set-target-state",
  setTargetStateLua,
  ({ state, durationMicros, openings, emptiesWindow }) => [
    encodeState(state),
    durationMicros,
    openings,
    emptiesWindow ? 1 : 0,
  ],
  ({ target, state, durationMicros, openings, emptiesWindow }, memory, context) => {
    const { policy } = target;
    const { now } = context;
    const loaded = loadTarget(target, memory, context);
    const { period, id, window } = loaded;
    if (state === "closed") beginClosed(period, id, now, window, durationMicros);
    else if (state === "open") beginOpen(period, policy, id, now, window, durationMicros);
    else if (state === "half-open") beginHalfOpen(period, id, now);
    else beginManualState(period, state, id, now, window);
    period.openings = openings;
    if (emptiesWindow) emptyWindow(loaded, policy, now);
    return saveTarget(target, loaded, memory, now, REJECTED);
  },
);
