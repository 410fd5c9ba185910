import type { Decision } from "../common/decision.ts";
import { codeOf } from "../common/errors.ts";
import type {
  Denial,
  QueuedDecision,
  QueueWaitOptions,
  WaiterGroup,
  WaitOptions,
  WaitQueue,
} from "./queue.ts";

/** What a call does while in line. */
export interface QueuedCall {
  /** The line in which it waits. */
  readonly key: string;
  /** The group that it waits with. */
  readonly group?: WaiterGroup | undefined;
  /** How many may wait in the line. */
  readonly maxPerKey: number;
  readonly attempt: () => Promise<Decision>;
  readonly onRelease: WaitOptions["onRelease"];
  readonly onLimitsChange: WaitOptions["onLimitsChange"];
  readonly undoDecision: (decision: Decision) => Promise<unknown>;
  /** The line's denial, adjusted to this call at this time. */
  readonly adaptDenial: (denial: Denial) => Decision;
  /** The store's clock, in microseconds. */
  readonly now: () => number;
}

/** Errors that end a wait with a denial. */
const CODES_THAT_DENY: readonly unknown[] = [
  "HEADGATE_WAIT_TIMEOUT",
  "HEADGATE_QUEUE_FULL",
  "HEADGATE_CLOSED",
];

/**
 * Asks and, if denied, waits behind the calls that are already waiting; if there are any, it does not ask before its turn. When
 * the time is over, the line is full, or waiting is over for all, the answer is the line's last denial, which costs no call. A
 * degraded decision ends the wait. Undefined if the client has disconnected: then the call costs nothing. Rejects with the
 * attempt's errors.
 */
export async function decideOrWait(
  queue: WaitQueue,
  {
    key,
    group,
    maxPerKey,
    attempt,
    onRelease,
    onLimitsChange,
    undoDecision,
    adaptDenial,
    now,
  }: QueuedCall,
  { timeoutMs, watchDisconnect }: QueueWaitOptions,
): Promise<QueuedDecision | undefined> {
  let denial = queue.lastDenial(key);
  if (denial === undefined) {
    const decision = await attempt();
    if (isFinal(decision)) return { decision, waitedMs: undefined };
    denial = { decision, receivedAt: now() };
  }
  const disconnect = watchDisconnect();
  const { signal } = disconnect;
  const began = performance.now();
  try {
    const waiting = {
      group,
      timeoutMs,
      signal,
      onRelease,
      onLimitsChange,
      maxPerKey,
      denial,
      isFinal,
    };
    const decision = await queue.enter(key, attempt, waiting);
    if (!disconnect.isDisconnected()) return { decision, waitedMs: performance.now() - began };
    // The client has disconnected, so an error would reach no one.
    await undoDecision(decision).catch(() => {});
    return undefined;
  } catch (error) {
    if (disconnect.isDisconnected()) return undefined;
    const code = codeOf(error);
    if (!signal.aborted && !CODES_THAT_DENY.includes(code)) throw error;
    const hasWaited = code !== "HEADGATE_QUEUE_FULL";
    const waitedMs = hasWaited ? performance.now() - began : undefined;
    return { decision: adaptDenial(queue.lastDenial(key) ?? denial), waitedMs };
  } finally {
    disconnect.stop();
  }
}

/** A denial is the answer if waiting would not change it, or if the store could not answer. */
function isFinal({ allowed, degraded, retryAfterMs }: Decision): boolean {
  return allowed || degraded || !Number.isFinite(retryAfterMs);
}
