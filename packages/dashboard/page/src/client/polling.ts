import type { Failure } from "./failure.ts";
import { asFailure, isFinal } from "./failure.ts";

/** The longest pause between two questions while they fail, in milliseconds. */
const LONGEST_PAUSE = 60_000;

/** What polling tells after each answer. */
export interface Polled<T> {
  /** The last good answer; it stays while later questions fail. */
  readonly data: T | undefined;
  /** Why the last question failed. */
  readonly failure: Failure | undefined;
}

/** What polling needs of its surroundings. */
export interface PollingOptions<T> {
  readonly ask: (signal: AbortSignal) => Promise<T>;
  /** The pause between an answer and the next question, in milliseconds. */
  readonly pollMs: number;
  readonly onChange: (polled: Polled<T>) => void;
  readonly schedule: (run: () => void, ms: number) => () => void;
  /** An answer from before, to begin with. */
  readonly first?: T | undefined;
}

/**
 * Asks again and again, one question at a time: none while it is paused, and fewer while they fail. `stop` aborts the question that is
 * under way.
 */
export class Polling<T> {
  readonly #options: PollingOptions<T>;
  readonly #leaving = new AbortController();
  #polled: Polled<T>;
  #failed = 0;
  #isAsking = false;
  #isPaused = false;
  #isDue = false;
  #cancel: () => void = () => {};

  constructor(options: PollingOptions<T>) {
    this.#options = options;
    this.#polled = { data: options.first, failure: undefined };
  }

  /** Asks now, or right after the question that is under way; also while it is paused. */
  ask(): void {
    this.#cancel();
    if (this.#isAsking) this.#isDue = true;
    else void this.#askOnce();
  }

  pause(): void {
    this.#isPaused = true;
    this.#cancel();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isAsking) this.ask();
  }

  stop(): void {
    this.#cancel();
    this.#leaving.abort();
  }

  async #askOnce(): Promise<void> {
    const { signal } = this.#leaving;
    if (signal.aborted) return;
    this.#isAsking = true;
    this.#isDue = false;
    try {
      const data = await this.#options.ask(signal);
      this.#failed = 0;
      this.#polled = { data, failure: undefined };
    } catch (error) {
      this.#failed += 1;
      this.#polled = { ...this.#polled, failure: asFailure(error) };
    }
    this.#isAsking = false;
    if (signal.aborted) return;
    this.#options.onChange(this.#polled);
    this.#askLater();
  }

  #askLater(): void {
    if (this.#isDue) {
      this.ask();
      return;
    }
    const { failure } = this.#polled;
    if (this.#isPaused || (failure && isFinal(failure))) return;
    const pause = pauseAfter(this.#failed, this.#options.pollMs, failure?.retryAfterMs);
    this.#cancel = this.#options.schedule(() => this.ask(), pause);
  }
}

/** Milliseconds until the next question: twice as long after each failure, up to a minute. */
export function pauseAfter(failed: number, pollMs: number, retryAfterMs = 0): number {
  const doubled = pollMs * 2 ** Math.min(failed, 10);
  return Math.max(failed === 0 ? pollMs : Math.min(doubled / 2, LONGEST_PAUSE), retryAfterMs);
}
