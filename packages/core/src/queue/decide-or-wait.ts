import type { Decision } from "../common/decision.ts";
import { codeOf } from "../common/errors.ts";
import type {
  Attempt,
  Denial,
  QueuedCall,
  QueuedDecision,
  QueueWaitOptions,
  WaiterGroup,
  WaitQueue,
} from "./queue.ts";

/** How a request waits among the calls of its limiter. */
export interface RequestQueueing {
  /** The group of waiting calls that the request belongs to. */
  readonly group?: WaiterGroup | undefined;
  /** The maximum number of calls that wait with the same key. */
  readonly maxPerKey: number;
  /** Refunds the charge of a decision and releases its slots. */
  readonly undoDecision: (decision: Decision) => Promise<unknown>;
  /** Adapts the last denial in the queue to the cost of this request and the present time. */
  readonly adaptDenial: (denial: Denial) => Decision;
  /** The store's clock, in microseconds. */
  readonly now: () => number;
}

/** The codes of errors that end a wait with a denial. */
const CODES_THAT_DENY: readonly unknown[] = [
  "HEADGATE_WAIT_TIMEOUT",
  "HEADGATE_QUEUE_FULL",
  "HEADGATE_CLOSED",
];

/**
 * Decides a request and, if it is denied, waits in the queue until it is allowed. If others wait with the same key, it waits behind
 * them without a call. When the timeout is over, the queue is full, or the limiter is closed, the result is the queue's last
 * denial, which costs no call. A degraded decision ends the wait. The result is undefined if the client has disconnected: then the
 * request is charged nothing. Rejects with the errors of an attempt.
 */
export async function decideOrWait(
  queue: WaitQueue,
  call: QueuedCall,
  { group, maxPerKey, undoDecision, adaptDenial, now }: RequestQueueing,
  { timeoutMs, usedTimeoutMs, watchDisconnect }: QueueWaitOptions,
): Promise<QueuedDecision | undefined> {
  let lastDenial = queue.lastDenial(call.key);
  let denial: Denial | undefined;
  if (lastDenial === undefined) {
    const { decision } = await call.attempt(usedTimeoutMs);
    if (decision.allowed || isFinal(decision)) return { decision, waitedMs: undefined };
    denial = { decision, receivedAt: now() };
    lastDenial = denial;
  }
  const disconnect = watchDisconnect();
  const { signal } = disconnect;
  const startedAt = performance.now();
  try {
    const { decision } = await queue.enter(call, {
      group,
      timeoutMs,
      signal,
      maxPerKey,
      denial,
      endsWait,
      onRejected(inQueue) {
        lastDenial = inQueue ?? lastDenial;
      },
    });
    if (!disconnect.isDisconnected()) return { decision, waitedMs: performance.now() - startedAt };
    // The client has disconnected, so no caller is left to receive an error.
    await undoDecision(decision).catch(() => {});
    return undefined;
  } catch (error) {
    if (disconnect.isDisconnected()) return undefined;
    const code = codeOf(error);
    if (!signal.aborted && !CODES_THAT_DENY.includes(code)) throw error;
    const hasWaited = code !== "HEADGATE_QUEUE_FULL";
    const waitedMs = hasWaited ? performance.now() - startedAt : undefined;
    return { decision: adaptDenial(lastDenial), waitedMs };
  } finally {
    disconnect.stop();
  }
}

function endsWait({ decision }: Attempt): boolean {
  return isFinal(decision);
}

/** Whether a denial ends the wait: waiting would not change it, or the store is unavailable. */
function isFinal({ degraded, retryAfterMs }: Decision): boolean {
  return degraded || !Number.isFinite(retryAfterMs);
}
