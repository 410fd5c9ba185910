import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import type { Random } from "../conformance/random/random.ts";

/** What a busy machine may add until work that was told to end has ended. */
const NOISE_MS = 50;

/** Moments are of `performance.now()`. */
export interface Ran {
  /** Which of the limiters admitted it. */
  readonly process: number;
  readonly source: Decision["source"];
  readonly from: number;
  until: number;
}

export interface Work {
  readonly ran: readonly Ran[];
  /** What workers got in place of a turn. */
  readonly errors: readonly unknown[];
  /** Resolves when all has ended. */
  stop(): Promise<void>;
}

/** Workers who run work of up to `longestMs` that obeys its signal, one after another, for as long as it is wanted. */
export function startWork(
  limiters: readonly Limiter[],
  subject: string,
  random: Random,
  { workers, longestMs }: { readonly workers: number; readonly longestMs: number },
): Work {
  const ran: Ran[] = [];
  const errors: unknown[] = [];
  let isOver = false;

  async function work(limiter: Limiter, process: number): Promise<void> {
    while (!isOver) {
      await limiter
        .run(
          subject,
          async ({ signal, decision }) => {
            const from = performance.now();
            const one: Ran = { process, source: decision.source, from, until: Infinity };
            ran.push(one);
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

  const working = limiters.flatMap((limiter, process) =>
    Array.from({ length: workers }, () => work(limiter, process)),
  );
  return {
    ran,
    errors,
    async stop() {
      isOver = true;
      await Promise.all(working);
      for (const limiter of limiters) await limiter.close();
    },
  };
}

/** The most work that ran at once, for longer than noise. */
export function mostAtOnce(ran: readonly Ran[]): number {
  const changes = ran
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
