import { background } from "../common/background.ts";

/** How often the clock ticks, in milliseconds, while it has listeners. */
const TICK_MS = 10;

/** The most that a tick counts, in milliseconds: a later one shows that this process did not run. */
const MAX_TICK_MS = 15;

/** Something that waits by the clock. */
export interface ClockListener {
  /** Whether waiting for it keeps the process alive. */
  readonly keepsAlive: boolean;
  /**
   * Called at each tick, with the time. Returns the milliseconds within which it must be called again, or undefined if it no longer
   * waits: then it is removed.
   */
  onTick(now: number): number | undefined;
}

/**
 * Counts the milliseconds in which this process was running, while it has listeners. Time in which the process was starved of
 * CPU, stopped, or busy with one long task does not count as waiting for a server: it could not have read an answer.
 *
 * It has one timer for all listeners, and none after a tick without any. The timer keeps the process alive until the next tick if a
 * listener that does so was removed before.
 */
export class EventLoopClock {
  readonly #tickMs: number;
  readonly #listeners = new Set<ClockListener>();
  #timer: NodeJS.Timeout | undefined;
  #elapsedMs = 0;
  /** The time of the last tick, by the process's monotonic clock. */
  #lastTickAt = 0;

  /** `shortestMs` is the shortest time that it must be able to measure. */
  constructor(shortestMs: number = TICK_MS) {
    this.#tickMs = Math.min(TICK_MS, shortestMs);
  }

  /** Milliseconds counted so far. The clock stops while it has no listeners. */
  now(): number {
    if (this.#timer === undefined) return this.#elapsedMs;
    const elapsed = performance.now() - this.#lastTickAt;
    // A clock that was set back or gives no time, as in tests, counts as one tick.
    return this.#elapsedMs + (elapsed >= 0 ? Math.min(elapsed, MAX_TICK_MS) : this.#tickMs);
  }

  /** Calls a listener at each tick, until it is removed. Returns the time. */
  addListener(listener: ClockListener): number {
    this.#listeners.add(listener);
    if (this.#timer === undefined) this.#start(this.#tickMs);
    else if (listener.keepsAlive) this.#timer.ref();
    return this.now();
  }

  /** Does nothing for a listener that was not added. */
  removeListener(listener: ClockListener): void {
    this.#listeners.delete(listener);
  }

  #start(ms: number): void {
    this.#lastTickAt = performance.now();
    this.#timer = background.runInAsyncScope(
      setTimeout,
      undefined,
      this.#tick,
      ms,
    ) as NodeJS.Timeout;
    for (const { keepsAlive } of this.#listeners) if (keepsAlive) return;
    this.#timer.unref();
  }

  readonly #tick = (): void => {
    this.#elapsedMs = this.now();
    this.#timer = undefined;
    let soonest = this.#tickMs;
    try {
      for (const listener of this.#listeners) {
        const withinMs = listener.onTick(this.#elapsedMs);
        if (withinMs === undefined) this.#listeners.delete(listener);
        else soonest = Math.min(soonest, withinMs);
      }
    } finally {
      // Also if one of them throws: the others count on being called.
      if (this.#listeners.size > 0) this.#start(Math.max(1, soonest));
    }
  };
}
