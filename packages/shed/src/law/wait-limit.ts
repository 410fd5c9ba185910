import type { Priority } from "./line.ts";

/** The share of the limit at which requests of a priority are shed. */
const SHARES: Readonly<Record<Priority, number>> = {
  critical: Number.POSITIVE_INFINITY,
  default: 1,
  sheddable: 0.4,
};

/** The share that is left to the requests of a heavy subject. */
const HEAVY_SHARE = 0.4;

/** The least that a standing queue leaves of the limit, in milliseconds. */
export const SHORTEST_LIMIT_MS = 20;

/**
 * How long a request may wait. If even the request that waited least in a second waited 0.6 of the limit, the queue is a standing
 * one: every request waits its length, and none is handled sooner for it. Then the limit halves, each second, down to 20 ms.
 */
export class WaitLimit {
  readonly #longest: number;
  #current: number;
  /** The shortest wait of this second. */
  #shortest = Number.POSITIVE_INFINITY;
  #hasIdled = false;

  /** `longest` is the limit of a default request while no queue stands: at least 20 ms. */
  constructor(longest: number) {
    this.#longest = longest;
    this.#current = longest;
  }

  /** The limit of a default request now, in milliseconds. */
  get current(): number {
    return this.#current;
  }

  of(priority: Priority, isHeavy: boolean): number {
    return this.#current * SHARES[priority] * (isHeavy ? HEAVY_SHARE : 1);
  }

  noteWait(ms: number): void {
    if (ms < this.#shortest) this.#shortest = ms;
  }

  /** The loop had nothing to do, and nothing was waiting. */
  noteIdle(): void {
    this.#hasIdled = true;
  }

  /** The process is calm again. */
  reset(): void {
    this.#current = this.#longest;
  }

  /** Adapts the limit to the second that is over. */
  endSecond(): void {
    const limit = this.#current;
    const shortest = this.#shortest;
    if (this.#hasIdled || shortest <= 0.1 * limit) this.#current = this.#longest;
    else if (shortest !== Number.POSITIVE_INFINITY) {
      this.#current =
        shortest > 0.6 * limit
          ? Math.max(SHORTEST_LIMIT_MS, limit / 2)
          : Math.min(this.#longest, limit * 1.5);
    }
    this.#shortest = Number.POSITIVE_INFINITY;
    this.#hasIdled = false;
  }
}
