import type { Decision } from "../base/decision.ts";
import { codeOf } from "../base/errors.ts";
import type { Denial, Turn, TurnOptions, Waiters, WaitOptions, WaitQueue } from "./line.ts";

/** What a call does in line. */
export interface TurnCall {
  /** The line in which it waits. */
  readonly line: string;
  /** Those with whom it waits. */
  readonly waiters?: Waiters | undefined;
  /** How many may wait in the line. */
  readonly maxLine: number;
  readonly attempt: () => Promise<Decision>;
  readonly onFreed: WaitOptions["onFreed"];
  readonly onChange: WaitOptions["onChange"];
  readonly giveBack: (decision: Decision) => Promise<unknown>;
  /** The line's denial, as it is now for this call. */
  readonly deniedBy: (denial: Denial) => Decision;
  /** The store's clock, in microseconds. */
  readonly now: () => number;
}

/** How a wait ends without an admission: by a denial, not by an error. */
const ENDS: readonly unknown[] = [
  "HEADGATE_WAIT_TIMEOUT",
  "HEADGATE_QUEUE_FULL",
  "HEADGATE_CLOSED",
];

/**
 * Asks, and if it is denied waits behind the calls that already wait; if there are any, it does not ask before its turn. When
 * the time is over, there is no room, or waiting is over for all, the answer is the line's last denial; that costs no call, however
 * many ask. It does not wait for what the store could not answer. Undefined if nobody waits for the answer any more: then it
 * costs nothing. Rejects with the attempt's errors.
 */
export async function takeTurn(
  queue: WaitQueue,
  { line, waiters, maxLine, attempt, onFreed, onChange, giveBack, deniedBy, now }: TurnCall,
  { timeoutMs, watchLeaving }: TurnOptions,
): Promise<Turn | undefined> {
  let denial = queue.lastDenial(line);
  if (denial === undefined) {
    const decision = await attempt();
    if (isAnswer(decision)) return { decision, waitedMs: undefined };
    denial = { decision, at: now() };
  }
  const leaving = watchLeaving();
  const { signal } = leaving;
  const began = performance.now();
  try {
    const waiting = { waiters, timeoutMs, signal, onFreed, onChange, maxLine, denial, isAnswer };
    const decision = await queue.enter(line, attempt, waiting);
    if (!leaving.hasLeft()) return { decision, waitedMs: performance.now() - began };
    // Nobody is left to be told that it could not be given back.
    await giveBack(decision).catch(() => {});
    return undefined;
  } catch (error) {
    if (leaving.hasLeft()) return undefined;
    const code = codeOf(error);
    if (!signal.aborted && !ENDS.includes(code)) throw error;
    const hasWaited = code !== "HEADGATE_QUEUE_FULL";
    const waitedMs = hasWaited ? performance.now() - began : undefined;
    return { decision: deniedBy(queue.lastDenial(line) ?? denial), waitedMs };
  } finally {
    leaving.stop();
  }
}

/** A denial that no wait would change, or that the store did not take, is the answer. */
function isAnswer({ allowed, degraded, retryAfterMs }: Decision): boolean {
  return allowed || degraded || !Number.isFinite(retryAfterMs);
}
