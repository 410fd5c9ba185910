import type { Decision } from "../common/decision.ts";
import { trackInUse } from "../common/in-use-count.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import type { WaitQueue } from "../queue/queue.ts";
import { createWaitQueue } from "../queue/wait-queue.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";

/**
 * The most HTTP requests that wait for one subject, and no more than half of `maxQueue`, so that one client leaves room for
 * others.
 */
const MAX_LINE = 100;

/** The queue of a limiter, in which calls and requests wait. */
export interface LimiterQueue {
  readonly queue: WaitQueue;
  /** How many HTTP requests may wait for one subject. */
  readonly maxLine: number;
  /** Refunds a decision's charge, and releases its slots. */
  giveBack(decision: Decision): Promise<unknown>;
}

/** The queue of a limiter, for at most `maxQueue` calls at once. Operators' orders wake it. */
export function createLimiterQueue(
  { counted, control, inFlight }: LimiterCore,
  { refund }: Pick<Limiter, "refund">,
  maxQueue: number,
): LimiterQueue {
  async function giveAllBack(decision: Decision): Promise<void> {
    const places = slotsOf(decision, counted);
    await Promise.all([refund(decision), places?.release().catch(() => false)]);
  }

  const giveBack = (decision: Decision) => inFlight.track(giveAllBack(decision));
  const queue = createWaitQueue(maxQueue, giveBack, counted.store.now, () =>
    trackInUse("waiting", counted.labels),
  );
  control?.onInvalidation(queue.wake);
  return { queue, maxLine: Math.min(MAX_LINE, Math.ceil(maxQueue / 2)), giveBack };
}
