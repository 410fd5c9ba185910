import type { Limiter } from "@headgate/core";
import { createLimiter, memoryStore, tokenBucket } from "@headgate/core";
import { HttpError } from "../serve/http-error.ts";
import type { Visitor } from "./visitor.ts";

/** The budget in lookups of a limiter; each lookup takes at most three calls to Redis. */
const CAPACITY = 2_000;
const REFILL_PER_SECOND = 200;

/**
 * Limits how much one visitor reads from Redis in addition to the shared views. Visitors without a name share one budget. It is
 * in memory, so that it works while Redis is slow.
 */
export class ReadBudget {
  readonly #limiter: Limiter;

  constructor() {
    this.#limiter = createLimiter({
      name: "dashboard-reads",
      limits: tokenBucket({ capacity: CAPACITY, refill: REFILL_PER_SECOND, every: "1s" }),
      store: memoryStore(),
    });
  }

  /** Rejects with an `HttpError` if the visitor exceeds the budget. More lookups than its capacity cost the whole budget. */
  async spend({ by }: Visitor, lookups: number): Promise<void> {
    const subject = by === null ? "readers" : `by ${by}`;
    const cost = Math.min(lookups, CAPACITY);
    const { allowed, retryAfterMs } = await this.#limiter.consume(subject, { cost });
    if (allowed) return;
    const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
    const message = `at most ${REFILL_PER_SECOND} limiter lookups per second`;
    throw new HttpError(429, "TOO_MANY_READS", message, { headers });
  }
}
