import { background } from "../common/background.ts";

/** How often a clock beats, in milliseconds, while something is waited for. */
const BEAT_MS = 10;

/** The most that a beat counts for: a later one shows that this process did not run. */
const LONGEST_BEAT_MS = 15;

/** Something that is waited for. */
export interface Awaited {
  /** Whether waiting for it keeps the process alive. */
  readonly keepsAlive: boolean;
  /** Called at each beat, with the time. Returns within how many milliseconds it must be called again. */
  onBeat(now: number): number;
}

/**
 * Counts the milliseconds in which this process was running, while anything is waited for. Time in which the process was
 * starved of CPU, stopped, or busy with one long task does not count as waiting for a server: it could not have read an answer.
 *
 * It has one timer, however many things are waited for, and none once a beat finds nothing.
 */
export class RunningClock {
  readonly #beatMs: number;
  readonly #awaited = new Set<Awaited>();
  /** How many of these keep the process alive. */
  #keptAlive = 0;
  #timer: NodeJS.Timeout | undefined;
  #counted = 0;
  /** When the last beat was, by the process's monotonic clock. */
  #beaten = 0;

  /** `shortestMs` is the shortest time that it must be able to measure. */
  constructor(shortestMs: number = BEAT_MS) {
    this.#beatMs = Math.min(BEAT_MS, shortestMs);
  }

  /** It stands still while nothing is waited for. */
  now(): number {
    if (this.#timer === undefined) return this.#counted;
    const elapsed = performance.now() - this.#beaten;
    // A clock that was set back or gives no time, as in tests, counts as one beat.
    return this.#counted + (elapsed >= 0 ? Math.min(elapsed, LONGEST_BEAT_MS) : this.#beatMs);
  }

  /** Calls `awaited` at each beat, until it leaves. Returns the time. */
  attend(awaited: Awaited): number {
    this.#awaited.add(awaited);
    if (awaited.keepsAlive) this.#keptAlive += 1;
    if (this.#timer === undefined) {
      this.#start(this.#beatMs);
      return this.#counted;
    }
    if (this.#keptAlive === 1) this.#timer.ref();
    return this.now();
  }

  /** Does nothing if it is not being waited for. */
  leave(awaited: Awaited): void {
    if (!this.#awaited.delete(awaited) || !awaited.keepsAlive) return;
    this.#keptAlive -= 1;
    if (this.#keptAlive === 0) this.#timer?.unref();
  }

  #start(ms: number): void {
    this.#beaten = performance.now();
    this.#timer = background.runInAsyncScope(
      setTimeout,
      undefined,
      this.#beat,
      ms,
    ) as NodeJS.Timeout;
    if (this.#keptAlive === 0) this.#timer.unref();
  }

  readonly #beat = (): void => {
    this.#counted = this.now();
    this.#timer = undefined;
    let soonest = this.#beatMs;
    for (const awaited of this.#awaited) {
      soonest = Math.min(soonest, awaited.onBeat(this.#counted));
    }
    if (this.#awaited.size > 0) this.#start(Math.max(1, soonest));
  };
}
