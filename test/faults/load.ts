import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../conformance/random/random.ts";
import type { Caller, CallResult } from "./callers/caller.ts";

/** The subject with so many requests that it reaches its limit. */
export const HOT = "hot";

const HOT_SHARE = 0.3;
const OTHER_SUBJECTS = 300;

/** One request and its result. Times are from `performance.now()`. */
export interface Sample {
  readonly caller: Caller;
  readonly subject: string;
  readonly sentAt: number;
  /** Undefined until there is an answer. */
  answeredAt: number | undefined;
  answer: CallResult | undefined;
  error: unknown;
}

export interface Load {
  /** In the order in which the requests were sent. */
  readonly samples: readonly Sample[];
  /** Stops sending, and waits until all answers have arrived or this many milliseconds have passed. */
  stop(drainTimeoutMs: number): Promise<void>;
}

/** Sends requests from every caller at a fixed interval, without waiting for answers, as independent clients do. */
export function startLoad(callers: readonly Caller[], intervalMs: number, random: Random): Load {
  const samples: Sample[] = [];
  const pending = new Set<Promise<void>>();
  const timers: NodeJS.Timeout[] = [];

  async function send(caller: Caller): Promise<void> {
    const subject = random.chance(HOT_SHARE) ? HOT : `client-${random.whole(1, OTHER_SUBJECTS)}`;
    const sample: Sample = {
      caller,
      subject,
      sentAt: performance.now(),
      answeredAt: undefined,
      answer: undefined,
      error: undefined,
    };
    samples.push(sample);
    try {
      sample.answer = await caller.consume(subject);
    } catch (error) {
      sample.error = error;
    }
    sample.answeredAt = performance.now();
  }

  for (const caller of callers) {
    const timer = setInterval(() => {
      const request = send(caller).finally(() => pending.delete(request));
      pending.add(request);
    }, intervalMs);
    timers.push(timer);
  }
  return {
    samples,
    async stop(drainTimeoutMs) {
      for (const timer of timers) clearInterval(timer);
      const drained = new AbortController();
      await Promise.race([
        Promise.all(pending),
        delay(drainTimeoutMs, undefined, { signal: drained.signal }).catch(() => {}),
      ]);
      drained.abort();
    },
  };
}
