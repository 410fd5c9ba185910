import { AsyncResource } from "node:async_hooks";
import { LONGEST_TIMER_MS } from "./time.ts";

/**
 * An async context outside of all requests, from the moment this module is loaded: work that many requests share runs in it, and keeps
 * none of their contexts.
 */
export const background: AsyncResource = new AsyncResource("HeadgateBackground");

/** A timer in the background. It keeps no process alive. */
export class Alarm {
  readonly #ring: () => unknown;
  #timer: NodeJS.Timeout | undefined;
  /** When it rings, in milliseconds of `performance.now()`. */
  #at = Number.POSITIVE_INFINITY;

  constructor(ring: () => unknown) {
    this.#ring = ring;
  }

  /** Whether it is going to ring. */
  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  /** Rings once after so many milliseconds, or after 24.8 days if they are more. Replaces the time that was set before. */
  set(ms: number): void {
    clearTimeout(this.#timer);
    const wait = Math.min(Math.max(1, Math.ceil(ms)), LONGEST_TIMER_MS);
    this.#at = performance.now() + wait;
    this.#timer = background.runInAsyncScope(start, undefined, this, wait);
  }

  /** The same, unless it rings earlier. */
  setBy(ms: number): void {
    if (performance.now() + ms < this.#at) this.set(ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }

  ring(): void {
    this.stop();
    this.#ring();
  }
}

function start(alarm: Alarm, ms: number): NodeJS.Timeout {
  return setTimeout(ring, ms, alarm).unref();
}

function ring(alarm: Alarm): void {
  alarm.ring();
}

/** Calls back with an object as long as it is in use elsewhere: an alarm does not keep it in memory. */
export function weakly<T extends object>(object: T, callback: (object: T) => unknown): () => void {
  const weak = new WeakRef(object);
  return () => {
    const known = weak.deref();
    if (known !== undefined) callback(known);
  };
}

/** A time, and up to a share more, so that processes that started together do not write together. */
export function spread(ms: number, share: number): number {
  return ms * (1 + share * Math.random());
}
