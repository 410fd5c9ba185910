import type { EventLoop } from "../../packages/shed/src/law/event-loop.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Where the loop gets its events from. */
export interface EventSource {
  /** When it has its next event, in milliseconds; Infinity if it never has. */
  nextAt(): number;
  /** Takes what has arrived, as one turn of the loop does. */
  poll(): void;
}

/** An event loop whose time passes only while code spins, or while it waits for events. */
export class VirtualLoop implements EventLoop {
  /** The Unix time at which `now()` was 0. A test that changes it sets the machine's clock. */
  timeOrigin = 1_700_000_000_000;
  /** When the loop last waited for an event. */
  lastIdleAt = 0;
  #now = 0;
  #idleTime = 0;
  #immediates: (() => void)[] = [];
  #timers: Timer[] = [];
  readonly #reactions: (() => void)[] = [];
  readonly #afterReactions: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  date(): number {
    return this.timeOrigin + this.#now;
  }

  idleTime(): number {
    return this.#idleTime;
  }

  setImmediate(callback: () => void): void {
    this.#immediates.push(callback);
  }

  afterReactions(callback: () => void): void {
    this.#afterReactions.push(callback);
  }

  setTimeout(callback: () => void, ms: number): void {
    const timer = { at: this.#now + ms, callback };
    const index = this.#timers.findIndex(({ at }) => at > timer.at);
    this.#timers.splice(index === -1 ? this.#timers.length : index, 0, timer);
  }

  /** Runs a callback as a promise reaction. */
  react(callback: () => void): void {
    this.#reactions.push(callback);
  }

  /** Uses the processor. */
  spin(ms: number): void {
    this.#now += ms;
  }

  /** Turns until a time has come. Throws what a callback throws, and goes on from there when it is called again. */
  run(source: EventSource, until: number): void {
    this.settle();
    while (this.#now < until) {
      while ((this.#timers[0]?.at ?? Number.POSITIVE_INFINITY) <= this.#now) {
        this.#call(this.#timers.shift()?.callback as () => void);
      }
      if (this.#immediates.length === 0) this.#wait(Math.min(source.nextAt(), until));
      source.poll();
      const immediates = this.#immediates;
      this.#immediates = [];
      for (const callback of immediates) this.#call(callback);
    }
  }

  /** Runs a callback of the loop, and its reactions. */
  #call(callback: () => void): void {
    callback();
    this.settle();
  }

  /** Runs reactions, as Node does when a callback is over. */
  settle(): void {
    for (;;) {
      const next = this.#reactions.shift() ?? this.#afterReactions.shift();
      if (next === undefined) return;
      next();
    }
  }

  #wait(until: number): void {
    const at = Math.min(until, this.#timers[0]?.at ?? Number.POSITIVE_INFINITY);
    if (at <= this.#now) return;
    this.#idleTime += at - this.#now;
    this.#now = at;
    this.lastIdleAt = at;
  }
}
