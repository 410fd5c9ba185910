import type { Sample } from "./load.ts";
import type { Stalls } from "./stalls.ts";

/** The default of `storeTimeout`, in milliseconds. */
export const STORE_TIMEOUT_MS = 100;

export interface Spans {
  readonly decisionMs: number;
  readonly decisionNetMs: number;
  readonly answerMs: number;
  readonly answerNetMs: number;
}

/**
 * Measures how long a decision and the whole answer took. Net times leave out stalls of the event loop where a stall
 * delays the answer: after `storeTimeout`, because a stall does not delay a timer that is not due yet, and on the
 * way to the decision and back.
 */
export function measureSpans(
  { sentAt, answeredAt = sentAt, answer }: Sample,
  stalls: Stalls,
): Spans {
  const answerMs = answeredAt - sentAt;
  if (answer === undefined) {
    return { decisionMs: answerMs, decisionNetMs: answerMs, answerMs, answerNetMs: answerMs };
  }
  const { requestedAt, decidedAt } = answer;
  const net = (from: number, to: number) => to - from - stalls.stalledMs(from, to);
  const decisionMs = decidedAt - requestedAt;
  const dueAt = Math.min(requestedAt + STORE_TIMEOUT_MS, decidedAt);
  const decisionNetMs = dueAt - requestedAt + net(dueAt, decidedAt);
  const answerNetMs = net(sentAt, requestedAt) + decisionNetMs + net(decidedAt, answeredAt);
  return { decisionMs, decisionNetMs, answerMs, answerNetMs };
}
