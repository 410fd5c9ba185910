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

  /** `now` is a clock in milliseconds since the epoch. */
  constructor(now: () => number = () => performance.timeOrigin + performance.now()) {
    this.#limiter = createLimiter({
      name: "dashboard-reads",
      limits: tokenBucket({ capacity: CAPACITY, refill: REFILL_PER_SECOND, every: "1s" }),
      store: memoryStore({ clock: now }),
    });
  }

  /**
   * Rejects with an `HttpError` if the visitor exceeds the budget, and then blocks the visitor until this request would be admitted.
   * More lookups than the budget's capacity cost the whole budget.
   */
  async spend(visitor: Visitor, lookups: number): Promise<void> {
    await this.requireNotRefused(visitor);
    const subject = subjectOf(visitor);
    const cost = Math.min(lookups, CAPACITY);
    const { allowed, retryAfterMs } = await this.#limiter.consume(subject, { cost });
    if (allowed) return;
    await this.#limiter.block(subject, Math.ceil(retryAfterMs));
    throw tooManyReads(retryAfterMs);
  }

  /** Rejects with an `HttpError` for a blocked visitor: for requests whose number of lookups takes time to find out. */
  async requireNotRefused(visitor: Visitor): Promise<void> {
    // A cost of nothing is denied only by a block.
    const { allowed, retryAfterMs } = await this.#limiter.peek(subjectOf(visitor), { cost: 0 });
    if (!allowed) throw tooManyReads(retryAfterMs);
  }
}

function subjectOf({ by }: Visitor): string {
  return by === null ? "readers" : `by ${by}`;
}

function tooManyReads(waitMs: number): HttpError {
  const headers = { "retry-after": String(Math.ceil(waitMs / 1_000)) };
  const message = `at most ${REFILL_PER_SECOND} limiter lookups per second`;
  return new HttpError(429, "TOO_MANY_READS", message, { headers });
}
