import type { EventLoop } from "./event-loop.ts";
import type { WaitLimit } from "./wait-limit.ts";

/** How often the limit is adapted and the load is reported. */
const SECOND_MS = 1_000;

/** The load of a process in the second that is over: whether requests waited in line, and whether some were shed. */
export type LoadState = "calm" | "busy" | "shedding";

/** The load of a process, and what has happened in this second. */
export interface LoadReport {
  readonly state: LoadState;
  /** The state of the report before. */
  readonly before: LoadState;
  /** The longest wait of a request that left the line, in milliseconds. */
  readonly longestWaitMs: number;
  /** How long a request of the default priority may wait now, in milliseconds. */
  readonly limitMs: number;
  /** How many requests are in line. */
  readonly waiting: number;
  /** How many requests were put in line. */
  readonly deferred: number;
  /** How many were shed, or would have been. */
  readonly shed: number;
}

/** Counts what happens in each second, adapts the limit to it, and reports. Does nothing while all is calm. */
export class LoadMonitor {
  readonly #loop: EventLoop;
  readonly #limit: WaitLimit;
  readonly #onReport: (report: LoadReport) => void;
  readonly #line: { readonly size: number };
  #state: LoadState = "calm";
  #longestWait = 0;
  #deferred = 0;
  #shed = 0;

  constructor(
    loop: EventLoop,
    limit: WaitLimit,
    line: { readonly size: number },
    onReport: (report: LoadReport) => void,
  ) {
    this.#loop = loop;
    this.#limit = limit;
    this.#line = line;
    this.#onReport = onReport;
  }

  /** A request was put in line. */
  noteDeferred(): void {
    this.#deferred += 1;
    if (this.#state === "calm") this.#worsen("busy");
  }

  /** A request was shed, or would have been. */
  noteShed(): void {
    this.#shed += 1;
    if (this.#state !== "shedding") this.#worsen("shedding");
  }

  /** A request left the line. */
  noteWait(ms: number): void {
    this.#limit.noteWait(ms);
    if (ms > this.#longestWait) this.#longestWait = ms;
  }

  /** A worse state is reported at once, and a better one at the end of a second. */
  #worsen(state: LoadState): void {
    const before = this.#state;
    this.#state = state;
    if (before === "calm") this.#loop.setTimeout(this.#endSecond, SECOND_MS);
    this.#report(before);
  }

  readonly #endSecond = (): void => {
    this.#limit.endSecond();
    const before = this.#state;
    if (this.#shed > 0) this.#state = "shedding";
    else this.#state = this.#deferred > 0 || this.#line.size > 0 ? "busy" : "calm";
    if (this.#state === "calm") this.#limit.reset();
    else this.#loop.setTimeout(this.#endSecond, SECOND_MS);
    this.#report(before);
    this.#longestWait = 0;
    this.#deferred = 0;
    this.#shed = 0;
  };

  /** The load now. */
  current(before: LoadState = this.#state): LoadReport {
    return {
      state: this.#state,
      before,
      longestWaitMs: this.#longestWait,
      limitMs: this.#limit.current,
      waiting: this.#line.size,
      deferred: this.#deferred,
      shed: this.#shed,
    };
  }

  #report(before: LoadState): void {
    this.#onReport(this.current(before));
  }
}
