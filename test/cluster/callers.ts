import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import { watchStalls } from "../faults/stalls.ts";

/** A decision with its times, which are of `performance.now()`. */
export interface TimedDecision {
  readonly subject: string;
  readonly at: number;
  /** The duration, without time in which this process did not run. */
  readonly tookMs: number;
  readonly decision: Decision;
}

export interface Callers {
  /** The decisions, in the order in which they were made. */
  readonly decisions: readonly TimedDecision[];
  /** Resolves when no call is in flight. Rejects with the first error of a caller. */
  stop(): Promise<void>;
}

/** Starts one caller for each subject, which makes a request, waits for a pause, and repeats. */
export function startCallers(
  limiter: Limiter,
  subjects: readonly string[],
  pauseMs: number,
): Callers {
  const decisions: TimedDecision[] = [];
  const stalls = watchStalls();
  let isOver = false;
  const callers = subjects.map(async (subject) => {
    while (!isOver) {
      const at = performance.now();
      const decision = await limiter.consume(subject);
      const answered = performance.now();
      const tookMs = answered - at - stalls.stalledMs(at, answered);
      decisions.push({ subject, at, tookMs, decision });
      await delay(pauseMs);
    }
  });
  const all = Promise.all(callers);
  all.catch(() => {});
  return {
    decisions,
    async stop() {
      isOver = true;
      stalls.stop();
      await all;
    },
  };
}

/** The time within which the given share of the decisions came. */
export function percentile(decisions: readonly TimedDecision[], share: number): number {
  const times = decisions.map(({ tookMs }) => tookMs).sort((left, right) => left - right);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
}

/** Units that were admitted, by the source of the decision. */
export function admittedBy(
  decisions: readonly TimedDecision[],
  source: Decision["source"],
): number {
  return decisions.filter(({ decision }) => decision.allowed && decision.source === source).length;
}
