import type { Operation } from "@headgate/core/internal";
import { orderLua } from "./lua.generated.ts";
import {
  beginByHand,
  beginClosed,
  beginHalfOpen,
  beginOpen,
  CLOSED,
  HALF_OPEN,
  OPEN,
} from "./period.ts";
import type { TargetKeys } from "./target.ts";
import { emptyWindow, readTarget, targetStep, writeTarget } from "./target.ts";

export interface Order {
  readonly target: TargetKeys;
  /** The period to begin, by its number in `STATES`. */
  readonly kind: number;
  /** Microseconds that an open period lasts, or the ramp of a closed one. */
  readonly lasts: number;
  /** How often it has opened in a row. */
  readonly opened: number;
  /** Whether the window is emptied. */
  readonly empties: boolean;
}

/** Sets the state of a target by hand. The reply is that of a contact. */
export const order: Operation<Order> = targetStep(
  "order",
  orderLua,
  ({ kind, lasts, opened, empties }) => [kind, lasts, opened, empties ? 1 : 0],
  ({ target, kind, lasts, opened, empties }, memory, moment) => {
    const { policy } = target;
    const { now } = moment;
    const read = readTarget(target, memory, moment);
    const { period, id, window } = read;
    if (kind === CLOSED) beginClosed(period, id, now, window, lasts);
    else if (kind === OPEN) beginOpen(period, policy, id, now, window, lasts);
    else if (kind === HALF_OPEN) beginHalfOpen(period, id, now);
    else beginByHand(period, kind, id, now, window);
    period.opened = opened;
    if (empties) emptyWindow(read, policy, now);
    return writeTarget(target, read, memory, now, 0);
  },
);
