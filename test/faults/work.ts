import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import type { Random } from "../conformance/random/random.ts";

/** The delay that a busy machine may add between the abort of a job and its end. */
const NOISE_MS = 50;

/** One run of a job. Times are from `performance.now()`. */
export interface JobRun {
  /** The index of the limiter that admitted it. */
  readonly process: number;
  readonly source: Decision["source"];
  readonly from: number;
  until: number;
}

export interface Work {
  readonly runs: readonly JobRun[];
  /** The errors that workers received from `limiter.run`. */
  readonly errors: readonly unknown[];
  /** Resolves when all jobs have ended. */
  stop(): Promise<void>;
}

/** Starts workers that run jobs one after another until `stop()`. A job takes up to `longestMs` and ends when its signal aborts. */
export function startWork(
  limiters: readonly Limiter[],
  subject: string,
  random: Random,
  { workers, longestMs }: { readonly workers: number; readonly longestMs: number },
): Work {
  const runs: JobRun[] = [];
  const errors: unknown[] = [];
  let isOver = false;

  async function work(limiter: Limiter, process: number): Promise<void> {
    while (!isOver) {
      await limiter
        .run(
          subject,
          async ({ signal, decision }) => {
            const from = performance.now();
            const one: JobRun = { process, source: decision.source, from, until: Infinity };
            runs.push(one);
            await delay(random.whole(5, longestMs), undefined, { signal }).catch(() => {});
            one.until = performance.now();
          },
          { timeout: "5s" },
        )
        .catch((error) => {
          if (error.code !== "HEADGATE_WAIT_TIMEOUT") errors.push(error);
        });
    }
  }

  const workerLoops = limiters.flatMap((limiter, process) =>
    Array.from({ length: workers }, () => work(limiter, process)),
  );
  return {
    runs,
    errors,
    async stop() {
      isOver = true;
      await Promise.all(workerLoops);
      for (const limiter of limiters) await limiter.close();
    },
  };
}

/** Returns the highest number of jobs that ran at once for longer than the noise of a busy machine. */
export function maxConcurrency(runs: readonly JobRun[]): number {
  const changes = runs
    .flatMap(({ from, until }) => {
      const end = until - NOISE_MS;
      return end > from ? [[from, 1] as const, [end, -1] as const] : [];
    })
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let now = 0;
  let most = 0;
  for (const [, change] of changes) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}
