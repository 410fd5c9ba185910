import type { Decision } from "../common/decision.ts";
import { trackInUse } from "../common/publish.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import type { WaitQueue } from "../queue/queue.ts";
import { createWaitQueue } from "../queue/wait-queue.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";

/**
 * The most HTTP requests that wait for one subject. No more than half of `maxQueue` is used, so that one client leaves room for
 * others.
 */
const MAX_PER_KEY = 100;

/** The queue of a limiter, in which calls and requests wait. */
export interface LimiterQueue {
  readonly queue: WaitQueue;
  /** How many HTTP requests may wait under one key of the queue. */
  readonly maxPerKey: number;
  /** Refunds a decision's charge, and releases its slots. */
  undoDecision(decision: Decision): Promise<unknown>;
}

/** The queue of a limiter, for at most `maxQueue` calls at once. Operators' changes wake it. */
export function createLimiterQueue(
  { policy, control, inFlight }: LimiterCore,
  { refund }: Pick<Limiter, "refund">,
  maxQueue: number,
): LimiterQueue {
  async function refundAndRelease(decision: Decision): Promise<void> {
    const slots = slotsOf(decision, policy);
    await Promise.all([refund(decision), slots?.release().catch(() => false)]);
  }

  const undoDecision = (decision: Decision) => inFlight.track(refundAndRelease(decision));
  const queue = createWaitQueue(maxQueue, {
    undoDecision,
    now: policy.store.now,
    track: (attempt) => inFlight.track(attempt),
    countWaiting: () => trackInUse("waiting", policy.labels),
  });
  control?.onInvalidation(queue.wake);
  return { queue, maxPerKey: Math.min(MAX_PER_KEY, Math.ceil(maxQueue / 2)), undoDecision };
}
