import { AsyncResource } from "node:async_hooks";
import { MAX_TIMER_MS } from "./time.ts";

/**
 * An async context outside of all requests, created when this module is loaded. Work shared by many requests runs in it, so
 * that it keeps none of their contexts alive.
 */
export const background: AsyncResource = new AsyncResource("HeadgateBackground");

/** A timer in the background. It does not keep the process alive. */
export class BackgroundTimer {
  readonly #callback: () => unknown;
  #timer: NodeJS.Timeout | undefined;
  /** When it fires, in milliseconds of `performance.now()`. */
  #firesAt = Number.POSITIVE_INFINITY;

  constructor(ring: () => unknown) {
    this.#callback = ring;
  }

  /** Whether it is going to fire. */
  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  /** Fires once after this many milliseconds, or after 24.8 days if that is less. Replaces an earlier setting. */
  set(ms: number): void {
    clearTimeout(this.#timer);
    const wait = Math.min(Math.max(1, Math.ceil(ms)), MAX_TIMER_MS);
    this.#firesAt = performance.now() + wait;
    this.#timer = background.runInAsyncScope(startTimer, undefined, this, wait);
  }

  /** Like `set`, unless the timer already fires earlier. */
  setNoLater(ms: number): void {
    if (performance.now() + ms < this.#firesAt) this.set(ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  fire(): void {
    this.stop();
    this.#callback();
  }
}

function startTimer(timer: BackgroundTimer, ms: number): NodeJS.Timeout {
  return setTimeout(fire, ms, timer).unref();
}

function fire(timer: BackgroundTimer): void {
  timer.fire();
}

/** Returns a function that calls back with an object until the object is collected, which the function does not prevent. */
export function weakCallback<T extends object>(
  object: T,
  callback: (object: T) => unknown,
): () => void {
  const weak = new WeakRef(object);
  return () => {
    const known = weak.deref();
    if (known !== undefined) callback(known);
  };
}

/** Extends a duration at random by up to `share` of it, so that processes that started together do not write together. */
export function addJitter(ms: number, share: number): number {
  return ms * (1 + share * Math.random());
}
