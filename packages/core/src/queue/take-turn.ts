import type { Decision } from "../common/decision.ts";
import { codeOf } from "../common/errors.ts";
import type { Denial, Turn, TurnOptions, Waiters, WaitOptions, WaitQueue } from "./line.ts";

/** What a call does while in line. */
export interface TurnCall {
  /** The line in which it waits. */
  readonly line: string;
  /** The group that it waits with. */
  readonly waiters?: Waiters | undefined;
  /** How many may wait in the line. */
  readonly maxLine: number;
  readonly attempt: () => Promise<Decision>;
  readonly onFreed: WaitOptions["onFreed"];
  readonly onChange: WaitOptions["onChange"];
  readonly giveBack: (decision: Decision) => Promise<unknown>;
  /** The line's denial, adjusted to this call at this time. */
  readonly deniedBy: (denial: Denial) => Decision;
  /** The store's clock, in microseconds. */
  readonly now: () => number;
}

/** Errors that end a wait with a denial. */
const ENDS: readonly unknown[] = [
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
    // The client has disconnected, so an error would reach no one.
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

/** A denial is the answer if waiting would not change it, or if the store could not answer. */
function isAnswer({ allowed, degraded, retryAfterMs }: Decision): boolean {
  return allowed || degraded || !Number.isFinite(retryAfterMs);
}
