import type { Limiter } from "@headgate/core";
import { createLimiter, memoryStore, tokenBucket } from "@headgate/core";
import { HttpError } from "../serve/http-error.ts";
import type { Visitor } from "./visitor.ts";

/** The budget in lookups of a limiter; each lookup takes at most three calls to Redis. */
const CAPACITY = 2_000;
const REFILL_PER_SECOND = 200;

/** The maximum number of visitors whose refusals are remembered. */
const MAX_REFUSED = 10_000;

/**
 * Limits how much one visitor reads from Redis in addition to the shared views. Visitors without a name share one budget. It is
 * in memory, so that it works while Redis is slow.
 */
export class ReadBudget {
  readonly #limiter: Limiter;
  readonly #now: () => number;
  /** When the refused request of each visitor would be admitted. */
  readonly #refusedUntil = new Map<string, number>();

  /** `now` is a clock in milliseconds since the epoch. */
  constructor(now: () => number = () => performance.timeOrigin + performance.now()) {
    this.#now = now;
    this.#limiter = createLimiter({
      name: "dashboard-reads",
      limits: tokenBucket({ capacity: CAPACITY, refill: REFILL_PER_SECOND, every: "1s" }),
      store: memoryStore({ clock: now }),
    });
  }

  /** Rejects with an `HttpError` if the visitor exceeds the budget. More lookups than its capacity cost the whole budget. */
  async spend(visitor: Visitor, lookups: number): Promise<void> {
    this.requireNotRefused(visitor);
    const subject = subjectOf(visitor);
    const cost = Math.min(lookups, CAPACITY);
    const { allowed, retryAfterMs } = await this.#limiter.consume(subject, { cost });
    if (allowed) return;
    this.#remember(subject, this.#now() + retryAfterMs);
    throw tooManyReads(retryAfterMs);
  }

  /**
   * Throws an `HttpError` until the visitor's last refused request would be admitted: for requests whose number of lookups takes
   * time to find out.
   */
  requireNotRefused(visitor: Visitor): void {
    const waitMs = (this.#refusedUntil.get(subjectOf(visitor)) ?? 0) - this.#now();
    if (waitMs > 0) throw tooManyReads(waitMs);
  }

  #remember(subject: string, until: number): void {
    for (const [known, end] of this.#refusedUntil) {
      if (end > this.#now() && this.#refusedUntil.size < MAX_REFUSED) break;
      this.#refusedUntil.delete(known);
    }
    this.#refusedUntil.delete(subject);
    this.#refusedUntil.set(subject, until);
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
