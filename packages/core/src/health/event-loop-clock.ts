import { background } from "../common/background.ts";

/** How often a clock beats, in milliseconds, while something is waited for. */
const TICK_MS = 10;

/** The most that a beat counts for: a later one shows that this process did not run. */
const MAX_TICK_MS = 15;

/** Something that is waited for. */
export interface ClockListener {
  /** Whether waiting for it keeps the process alive. */
  readonly keepsAlive: boolean;
  /** Called at each beat, with the time. Returns within how many milliseconds it must be called again. */
  onTick(now: number): number;
}

/**
 * Counts the milliseconds in which this process was running, while anything is waited for. Time in which the process was
 * starved of CPU, stopped, or busy with one long task does not count as waiting for a server: it could not have read an answer.
 *
 * It has one timer, however many things are waited for, and none once a beat finds nothing.
 */
export class EventLoopClock {
  readonly #tickMs: number;
  readonly #listeners = new Set<ClockListener>();
  /** How many of these keep the process alive. */
  #keepAliveCount = 0;
  #timer: NodeJS.Timeout | undefined;
  #elapsedMs = 0;
  /** When the last beat was, by the process's monotonic clock. */
  #lastTickAt = 0;

  /** `shortestMs` is the shortest time that it must be able to measure. */
  constructor(shortestMs: number = TICK_MS) {
    this.#tickMs = Math.min(TICK_MS, shortestMs);
  }

  /** It stands still while nothing is waited for. */
  now(): number {
    if (this.#timer === undefined) return this.#elapsedMs;
    const elapsed = performance.now() - this.#lastTickAt;
    // A clock that was set back or gives no time, as in tests, counts as one beat.
    return this.#elapsedMs + (elapsed >= 0 ? Math.min(elapsed, MAX_TICK_MS) : this.#tickMs);
  }

  /** Calls `awaited` at each beat, until it leaves. Returns the time. */
  addListener(listener: ClockListener): number {
    this.#listeners.add(listener);
    if (listener.keepsAlive) this.#keepAliveCount += 1;
    if (this.#timer === undefined) {
      this.#start(this.#tickMs);
      return this.#elapsedMs;
    }
    if (this.#keepAliveCount === 1) this.#timer.ref();
    return this.now();
  }

  /** Does nothing if it is not being waited for. */
  removeListener(listener: ClockListener): void {
    if (!this.#listeners.delete(listener) || !listener.keepsAlive) return;
    this.#keepAliveCount -= 1;
    if (this.#keepAliveCount === 0) this.#timer?.unref();
  }

  #start(ms: number): void {
    this.#lastTickAt = performance.now();
    this.#timer = background.runInAsyncScope(
      setTimeout,
      undefined,
      this.#tick,
      ms,
    ) as NodeJS.Timeout;
    if (this.#keepAliveCount === 0) this.#timer.unref();
  }

  readonly #tick = (): void => {
    this.#elapsedMs = this.now();
    this.#timer = undefined;
    let soonest = this.#tickMs;
    for (const listener of this.#listeners) {
      soonest = Math.min(soonest, listener.onTick(this.#elapsedMs));
    }
    if (this.#listeners.size > 0) this.#start(Math.max(1, soonest));
  };
}
