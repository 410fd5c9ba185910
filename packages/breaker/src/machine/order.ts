import type { Operation } from "@headgate/core/internal";
import { orderLua } from "./lua.generated.ts";
import {
  beginClosed,
  beginHalfOpen,
  beginManualState,
  beginOpen,
  CLOSED,
  HALF_OPEN,
  OPEN,
} from "./period.ts";
import type { TargetKeys } from "./target.ts";
import { createTargetOperation, emptyWindow, loadTarget, saveTarget } from "./target.ts";

export interface SetStateRequest {
  readonly target: TargetKeys;
  /** The period to begin, by its number in `STATES`. */
  readonly kind: number;
  /** Microseconds that an open period lasts, or the ramp of a closed one. */
  readonly durationMicros: number;
  /** How often it has opened in a row. */
  readonly opened: number;
  /** Whether the window is emptied. */
  readonly emptiesWindow: boolean;
}

/** Sets the state of a target by hand. The reply is that of a contact. */
export const setTargetState: Operation<SetStateRequest> = createTargetOperation(
  "order",
  orderLua,
  ({ kind, durationMicros, opened, emptiesWindow }) => [
    kind,
    durationMicros,
    opened,
    emptiesWindow ? 1 : 0,
  ],
  ({ target, kind, durationMicros, opened, emptiesWindow }, memory, context) => {
    const { policy } = target;
    const { now } = context;
    const loaded = loadTarget(target, memory, context);
    const { period, id, window } = loaded;
    if (kind === CLOSED) beginClosed(period, id, now, window, durationMicros);
    else if (kind === OPEN) beginOpen(period, policy, id, now, window, durationMicros);
    else if (kind === HALF_OPEN) beginHalfOpen(period, id, now);
    else beginManualState(period, kind, id, now, window);
    period.opened = opened;
    if (emptiesWindow) emptyWindow(loaded, policy, now);
    return saveTarget(target, loaded, memory, now, 0);
  },
);
