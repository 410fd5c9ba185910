import type { EventLoop } from "./event-loop.ts";

/** The loop is busy when it has not waited for an event this long. */
const BUSY_MS = 20;

/** How long handlers run before the loop turns again. */
export const SLICE_MS = 10;

/** Knows how busy the event loop is. It looks once in each turn that brings something. */
export class LoopWatch {
  readonly #loop: EventLoop;
  /** Whether the turn's first arrival has been noted. */
  #turnIsOpen = false;
  #turnStartedAt: number;
  #idleTime: number;
  #busySince: number;
  #hasArrivals = false;

  constructor(loop: EventLoop) {
    this.#loop = loop;
    const now = loop.now();
    this.#turnStartedAt = now;
    this.#busySince = now;
    this.#idleTime = loop.idleTime();
  }

  /** When the loop last waited for an event while no request was in line, as far as seen. */
  get busySince(): number {
    return this.#busySince;
  }

  /** A connection or a request has arrived. Returns true for the first since the loop had nothing to do; `waiting` are in line. */
  noteArrival(now: number, waiting: number): boolean {
    this.#hasArrivals = true;
    return !this.#turnIsOpen && this.#openTurn(now, waiting);
  }

  /** Whether a request that arrives now would delay others in its turn, or had to wait itself. */
  isBusy(now: number): boolean {
    return now - this.#turnStartedAt >= SLICE_MS || now - this.#busySince >= BUSY_MS;
  }

  /** At the end of a turn: whether it brought anything, so that the kernel may have more. */
  takeArrivals(): boolean {
    const had = this.#hasArrivals;
    this.#hasArrivals = false;
    return had;
  }

  #openTurn(now: number, waiting: number): boolean {
    this.#turnIsOpen = true;
    this.#turnStartedAt = now;
    this.#loop.setImmediate(this.#closeTurn);
    const idleTime = this.#loop.idleTime();
    const hasWaited = idleTime > this.#idleTime;
    this.#idleTime = idleTime;
    // With requests in line, the loop waits for those in flight.
    if (!hasWaited || waiting > 0) return false;
    this.#busySince = now;
    return true;
  }

  readonly #closeTurn = (): void => {
    this.#turnIsOpen = false;
  };
}
