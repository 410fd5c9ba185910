import type { Decision } from "../common/decision.ts";
import { trackInUse } from "../common/in-use-count.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import type { WaitQueue } from "../queue/queue.ts";
import { createWaitQueue } from "../queue/wait-queue.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";

/**
 * The most HTTP requests that wait for one subject. No more than half of `maxQueue` is used, so that one client leaves room for
 * others.
 */
const MAX_PER_SUBJECT = 100;

/** The queue of a limiter, in which calls and requests wait. */
export interface LimiterQueue {
  readonly queue: WaitQueue;
  /** How many HTTP requests may wait for one subject. */
  readonly maxPerSubject: number;
  /** Refunds a decision's charge, and releases its slots. */
  giveBack(decision: Decision): Promise<unknown>;
}

/** The queue of a limiter, for at most `maxQueue` calls at once. Orders of operators wake it. */
export function createLimiterQueue(
  { policy, control, inFlight }: LimiterCore,
  { refund }: Pick<Limiter, "refund">,
  maxQueue: number,
): LimiterQueue {
  async function giveAllBack(decision: Decision): Promise<void> {
    const slots = slotsOf(decision, policy);
    await Promise.all([refund(decision), slots?.release().catch(() => false)]);
  }

  const giveBack = (decision: Decision) => inFlight.track(giveAllBack(decision));
  const queue = createWaitQueue(maxQueue, giveBack, policy.store.now, () =>
    trackInUse("waiting", policy.labels),
  );
  control?.onInvalidation(queue.wake);
  return { queue, maxPerSubject: Math.min(MAX_PER_SUBJECT, Math.ceil(maxQueue / 2)), giveBack };
}
