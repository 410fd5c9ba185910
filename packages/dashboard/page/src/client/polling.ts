import type { Failure } from "./failure.ts";
import { asFailure, isPermanent } from "./failure.ts";

/** The longest pause between two requests while they fail, in milliseconds. */
const MAX_PAUSE_MS = 60_000;

/** The state of polling after each response. */
export interface PollState<T> {
  /** The last successful response; it stays while later requests fail. */
  readonly data: T | undefined;
  /** Why the last request failed. */
  readonly failure: Failure | undefined;
}

export interface PollingOptions<T> {
  readonly load: (signal: AbortSignal) => Promise<T>;
  /** The pause between a response and the next request, in milliseconds. */
  readonly pollMs: number;
  readonly onChange: (state: PollState<T>) => void;
  /** Runs something later, unless the returned function is called first. Default: by a timer. */
  readonly schedule?: (run: () => void, ms: number) => () => void;
  /** What is known before the first response. Default: nothing. */
  readonly initialState?: PollState<T>;
}

/**
 * Repeats a request, one at a time: not at all while paused, and less often while it fails. `stop` aborts the request in
 * progress.
 */
export class Polling<T> {
  readonly #options: PollingOptions<T>;
  readonly #abortController = new AbortController();
  #state: PollState<T>;
  #failureCount = 0;
  #isLoading = false;
  #isPaused = false;
  #isDue = false;
  #cancel: () => void = () => {};

  constructor(options: PollingOptions<T>) {
    this.#options = options;
    this.#state = options.initialState ?? { data: undefined, failure: undefined };
  }

  /** Sends a request now, or right after the one in progress; also while paused. */
  load(): void {
    this.#cancel();
    if (this.#isLoading) this.#isDue = true;
    else void this.#loadOnce();
  }

  pause(): void {
    this.#isPaused = true;
    this.#cancel();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isLoading) this.load();
  }

  stop(): void {
    this.#cancel();
    this.#abortController.abort();
  }

  async #loadOnce(): Promise<void> {
    const { signal } = this.#abortController;
    if (signal.aborted) return;
    this.#isLoading = true;
    this.#isDue = false;
    try {
      const data = await this.#options.load(signal);
      this.#failureCount = 0;
      this.#state = { data, failure: undefined };
    } catch (error) {
      this.#failureCount += 1;
      this.#state = { ...this.#state, failure: asFailure(error) };
    }
    this.#isLoading = false;
    if (signal.aborted) return;
    this.#options.onChange(this.#state);
    this.#loadLater();
  }

  #loadLater(): void {
    if (this.#isDue) {
      this.load();
      return;
    }
    const { failure } = this.#state;
    if (this.#isPaused || (failure && isPermanent(failure))) return;
    const pause = pauseAfter(this.#failureCount, this.#options.pollMs, failure?.retryAfterMs);
    const { schedule = later } = this.#options;
    this.#cancel = schedule(() => this.load(), pause);
  }
}

function later(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Milliseconds until the next request: twice as long after each failure, up to a minute. */
export function pauseAfter(failureCount: number, pollMs: number, retryAfterMs = 0): number {
  const doubled = pollMs * 2 ** Math.min(failureCount, 10);
  return Math.max(failureCount === 0 ? pollMs : Math.min(doubled / 2, MAX_PAUSE_MS), retryAfterMs);
}
