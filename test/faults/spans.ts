import type { Sample } from "./load.ts";
import type { Stalls } from "./stalls.ts";

/** The default of `storeTimeout`. */
export const STORE_TIMEOUT_MS = 100;

export interface Spans {
  readonly decisionMs: number;
  readonly decisionNetMs: number;
  readonly answerMs: number;
  readonly answerNetMs: number;
}

/**
 * How long a decision and the whole answer took. Net is without the time in which the event loop could not run, but only
 * where a stall makes an answer late: after `storeTimeout`, because a timer that is not due yet loses nothing, and on the
 * way to the decision and back.
 */
export function measureSpans(
  { askedAt, answeredAt = askedAt, answer }: Sample,
  stalls: Stalls,
): Spans {
  const answerMs = answeredAt - askedAt;
  if (answer === undefined) {
    return { decisionMs: answerMs, decisionNetMs: answerMs, answerMs, answerNetMs: answerMs };
  }
  const { decidedFrom, decidedAt } = answer;
  const net = (from: number, to: number) => to - from - stalls.within(from, to);
  const decisionMs = decidedAt - decidedFrom;
  const dueAt = Math.min(decidedFrom + STORE_TIMEOUT_MS, decidedAt);
  const decisionNetMs = dueAt - decidedFrom + net(dueAt, decidedAt);
  const answerNetMs = net(askedAt, decidedFrom) + decisionNetMs + net(decidedAt, answeredAt);
  return { decisionMs, decisionNetMs, answerMs, answerNetMs };
}
