import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../conformance/random/random.ts";
import type { Answer, Caller } from "./callers/caller.ts";

/** The subject that asks so often that it reaches its limit. */
export const HOT = "hot";

const HOT_SHARE = 0.3;
const OTHER_SUBJECTS = 300;

/** One question, and what came of it. Moments are of `performance.now()`. */
export interface Sample {
  readonly caller: Caller;
  readonly subject: string;
  readonly askedAt: number;
  /** Undefined as long as there is no answer. */
  answeredAt: number | undefined;
  answer: Answer | undefined;
  error: unknown;
}

export interface Load {
  /** In the order in which they were asked. */
  readonly samples: readonly Sample[];
  /** Asks no more, and waits for answers until all are there or this many milliseconds have passed. */
  stop(patienceMs: number): Promise<void>;
}

/** Lets every caller ask again and again, whether or not it was answered: clients do not wait for each other. */
export function startLoad(callers: readonly Caller[], everyMs: number, random: Random): Load {
  const samples: Sample[] = [];
  const pending = new Set<Promise<void>>();
  const timers: NodeJS.Timeout[] = [];

  async function ask(caller: Caller): Promise<void> {
    const subject = random.chance(HOT_SHARE) ? HOT : `client-${random.whole(1, OTHER_SUBJECTS)}`;
    const sample: Sample = {
      caller,
      subject,
      askedAt: performance.now(),
      answeredAt: undefined,
      answer: undefined,
      error: undefined,
    };
    samples.push(sample);
    try {
      sample.answer = await caller.ask(subject);
    } catch (error) {
      sample.error = error;
    }
    sample.answeredAt = performance.now();
  }

  for (const caller of callers) {
    const timer = setInterval(() => {
      const asked = ask(caller).finally(() => pending.delete(asked));
      pending.add(asked);
    }, everyMs);
    timers.push(timer);
  }
  return {
    samples,
    async stop(patienceMs) {
      for (const timer of timers) clearInterval(timer);
      const patience = new AbortController();
      await Promise.race([
        Promise.all(pending),
        delay(patienceMs, undefined, { signal: patience.signal }).catch(() => {}),
      ]);
      patience.abort();
    },
  };
}
