import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import { watchStalls } from "../faults/stalls.ts";

/** One question and its answer. Moments are of `performance.now()`. */
export interface Asked {
  readonly subject: string;
  readonly at: number;
  /** Without the time in which the machine let this process do nothing. */
  readonly tookMs: number;
  readonly decision: Decision;
}

export interface Callers {
  /** In the order of their answers. */
  readonly asked: readonly Asked[];
  /** Resolves when no question is open. Rejects with the first error that a caller got. */
  stop(): Promise<void>;
}

/** One caller for each subject, who asks again a pause after each answer. */
export function startCallers(
  limiter: Limiter,
  subjects: readonly string[],
  pauseMs: number,
): Callers {
  const asked: Asked[] = [];
  const stalls = watchStalls();
  let isOver = false;
  const callers = subjects.map(async (subject) => {
    while (!isOver) {
      const at = performance.now();
      const decision = await limiter.consume(subject);
      const answered = performance.now();
      const tookMs = answered - at - stalls.within(at, answered);
      asked.push({ subject, at, tookMs, decision });
      await delay(pauseMs);
    }
  });
  const all = Promise.all(callers);
  all.catch(() => {});
  return {
    asked,
    async stop() {
      isOver = true;
      stalls.stop();
      await all;
    },
  };
}

/** The time within which the given share of the answers came. */
export function percentile(asked: readonly Asked[], share: number): number {
  const times = asked.map(({ tookMs }) => tookMs).sort((left, right) => left - right);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
}

/** Units that were admitted, by the source of the decision. */
export function admittedBy(asked: readonly Asked[], source: Decision["source"]): number {
  return asked.filter(({ decision }) => decision.allowed && decision.source === source).length;
}
