import type { EventLoop } from "./event-loop.ts";
import type { DeferredRequest } from "./line.ts";
import { Line, PRIORITIES } from "./line.ts";
import type { LoadReport } from "./load-monitor.ts";
import { LoadMonitor } from "./load-monitor.ts";
import { LoopWatch, SLICE_MS } from "./loop-watch.ts";
import { StartHeaderClock } from "./start-header.ts";
import { SubjectUsage } from "./subject-usage.ts";
import { WaitLimit } from "./wait-limit.ts";

/** How long the loop turns without running handlers while each turn brings new requests. */
const INTAKE_MS = 10;

/** The most requests in line. */
const MAX_WAITING = 100_000;

/** Why a request is shed: it waited too long, its subject is a heavy one and it waited too long for that, or the line is full. */
export type ShedReason = "wait" | "heavy-subject" | "line-full";

/** A request was shed, or would have been. */
export interface ShedDecision {
  readonly request: DeferredRequest;
  readonly reason: ShedReason;
  readonly waitMs: number;
  /** The longest that it might have waited. */
  readonly limitMs: number;
}

export interface AdmissionOptions {
  readonly maxWaitMs: number;
  readonly maxInFlight: number;
  readonly dryRun: boolean;
  readonly onShed: (decision: ShedDecision) => void;
  readonly onReport: (report: LoadReport) => void;
}

/**
 * Decides when a request is handled, and whether. While the loop has a break now and then, requests are handled as they
 * arrive. Otherwise they are put in line, so that the queue stands in the process, where it can be measured, and not in the kernel:
 * turns without handlers take in what has arrived, and handlers run in slices between them. A request is shed when it has
 * waited longer than the limit of its priority.
 */
export class Admission {
  readonly #loop: EventLoop;
  readonly #options: AdmissionOptions;
  readonly #watch: LoopWatch;
  readonly #line = new Line();
  readonly #limit: WaitLimit;
  readonly #monitor: LoadMonitor;
  readonly #usage: SubjectUsage;
  readonly #startHeaders = new StartHeaderClock();
  #maxInFlight: number;
  #inFlight = 0;

  #drainIsScheduled = false;
  #retryIsScheduled = false;
  #intakeStartedAt: number | undefined;
  #sliceStartedAt = 0;
  /** Whether the last slice shed all that had waited too long. Until then there is no intake, for those behind them wait, too. */
  #hasShedAll = true;
  /** The request whose handler runs, and since when. */
  #running: DeferredRequest | undefined;
  #runningSince = 0;
  #onEmpty: (() => void) | undefined;

  constructor(loop: EventLoop, options: AdmissionOptions) {
    this.#loop = loop;
    this.#options = options;
    this.#watch = new LoopWatch(loop);
    this.#limit = new WaitLimit(options.maxWaitMs);
    this.#monitor = new LoadMonitor(loop, this.#limit, this.#line, options.onReport);
    // A dry run delays nobody for longer than the loop does.
    this.#maxInFlight = options.dryRun ? Number.POSITIVE_INFINITY : options.maxInFlight;
    this.#usage = new SubjectUsage(loop.now());
  }

  /** The load now. */
  load(): LoadReport {
    return this.#monitor.current();
  }

  /** A connection has arrived. */
  noteConnection(): void {
    this.#noteArrival(this.#loop.now());
  }

  /** Whether a request that arrives now is handled at once. Otherwise call `defer`. */
  admitsAtOnce(): boolean {
    const now = this.#loop.now();
    this.#noteArrival(now);
    const mustWait = this.#line.size > 0 || this.#inFlight >= this.#maxInFlight;
    if (mustWait || this.#watch.isBusy(now)) return false;
    this.#limit.noteWait(0);
    return true;
  }

  /** Milliseconds since a request arrived at the proxy that set this header. Call it with each request, so that clocks are compared. */
  elapsed(startHeader: string | undefined): number {
    return this.#startHeaders.elapsed(startHeader, this.#loop.now(), this.#loop.date());
  }

  /**
   * When a request that is read now arrived: `elapsedMs` ago, its time since a proxy; 0 if that is not known. How long it stood in
   * the kernel is not estimated: on a loop that never waits, however little there is to do, an estimate sheds what has just arrived.
   */
  arrivalTime(elapsedMs: number): number {
    // Nothing has waited for the loop since before its last break. If a header says so, clocks have stepped.
    return Math.max(this.#loop.now() - elapsedMs, this.#watch.busySince);
  }

  /** Puts a request in line. */
  defer(request: DeferredRequest): void {
    if (this.#line.size >= MAX_WAITING) {
      this.#overflow(request);
      return;
    }
    this.#line.add(request);
    this.#monitor.noteDeferred();
    this.#schedule();
  }

  /** A request is being handled, until `end` is called. Only counted with `maxInFlight`. */
  begin(): void {
    this.#inFlight += 1;
  }

  readonly end = (): void => {
    this.#inFlight -= 1;
    if (this.#line.size > 0) this.#schedule();
  };

  /** Adds to the handler time of a subject. */
  charge(subject: string, ms: number): void {
    this.#usage.charge(subject, ms, this.#loop.now());
  }

  /** Calls back once no request is in line; from now on, requests in flight keep none in line. */
  drain(onEmpty: () => void): void {
    this.#maxInFlight = Number.POSITIVE_INFINITY;
    if (this.#line.size === 0) {
      onEmpty();
      return;
    }
    this.#onEmpty = onEmpty;
    this.#schedule();
  }

  #noteArrival(now: number): void {
    if (this.#watch.noteArrival(now, this.#line.size)) this.#limit.noteIdle();
  }

  #overflow(request: DeferredRequest): void {
    const isCritical = request.priority === "critical";
    if (!isCritical) {
      this.#reportShed(request, "line-full", 0, this.#limit.of(request.priority, false));
    }
    if (isCritical || this.#options.dryRun) request.start();
    else refuse(request);
  }

  #schedule(): void {
    if (this.#drainIsScheduled) return;
    this.#drainIsScheduled = true;
    this.#loop.setImmediate(this.#drain);
  }

  /** Once in a turn, after its events: serves the line, unless more may be on its way from the kernel. */
  readonly #drain = (): void => {
    const now = this.#loop.now();
    const hadArrivals = this.#watch.takeArrivals();
    this.#intakeStartedAt ??= now;
    if (hadArrivals && this.#hasShedAll && now - this.#intakeStartedAt < INTAKE_MS) {
      this.#loop.setImmediate(this.#drain);
      return;
    }
    this.#intakeStartedAt = undefined;
    this.#sliceStartedAt = now;
    this.#serve();
  };

  /** Handles the next request, and goes on when its handler has run, or ends the slice. */
  readonly #serve = (): void => {
    let request: DeferredRequest | undefined;
    try {
      request = this.#next();
    } finally {
      // Also if responding to a shed request threw: the others must not wait for ever.
      if (request === undefined) this.#endSlice();
    }
    if (request === undefined) return;
    this.#running = request;
    // Before the handler, which may throw.
    this.#loop.afterReactions(this.#serve);
    request.start();
  };

  /** Sheds what has waited too long, and returns the request to be handled next; undefined at the end of the slice. */
  #next(): DeferredRequest | undefined {
    const now = this.#loop.now();
    const last = this.#running;
    if (last !== undefined) {
      this.#running = undefined;
      if (last.subject !== undefined) {
        this.#usage.charge(last.subject, now - this.#runningSince, now);
      }
      if (this.#isSliceOver(now)) return undefined;
    }
    this.#hasShedAll = this.#options.dryRun || this.#shedFromFront(now);
    while (this.#inFlight < this.#maxInFlight) {
      // Those that have waited too long stand in front of all others but critical ones.
      const request = this.#hasShedAll ? this.#line.takeNext() : this.#line.take("critical");
      if (request === undefined) return undefined;
      const startsAt = this.#loop.now();
      if (!request.isGone()) {
        if (this.#options.dryRun) this.#reportIfLate(request, startsAt);
        this.#monitor.noteWait(startsAt - request.arrivedAt);
        this.#runningSince = startsAt;
        return request;
      }
      request.drop();
      if (this.#isSliceOver(startsAt)) return undefined;
    }
    return undefined;
  }

  #isSliceOver(now: number): boolean {
    return now - this.#sliceStartedAt >= SLICE_MS;
  }

  #endSlice(): void {
    this.#drainIsScheduled = false;
    if (this.#line.size === 0) {
      this.#onEmpty?.();
      this.#onEmpty = undefined;
    } else if (this.#inFlight < this.#maxInFlight) this.#schedule();
    else this.#retryLater();
  }

  /** While requests in flight keep the line waiting, those in it may pass their limit before one of them ends. */
  #retryLater(): void {
    if (this.#retryIsScheduled) return;
    this.#retryIsScheduled = true;
    this.#loop.setTimeout(() => {
      this.#retryIsScheduled = false;
      if (this.#line.size > 0) this.#schedule();
    }, SLICE_MS);
  }

  /**
   * Sheds the requests at the front of each priority that have waited too long. Returns false if the slice is over before all are
   * shed.
   */
  #shedFromFront(start: number): boolean {
    let now = start;
    for (const priority of PRIORITIES) {
      for (;;) {
        const request = this.#line.first(priority);
        if (request === undefined || !this.#reportIfLate(request, now)) break;
        this.#line.take(priority);
        this.#monitor.noteWait(now - request.arrivedAt);
        refuse(request);
        now = this.#loop.now();
        if (this.#isSliceOver(now)) return false;
      }
    }
    return true;
  }

  /** Reports a request that has waited longer than it may, and returns whether it has. */
  #reportIfLate(request: DeferredRequest, now: number): boolean {
    const { priority, subject } = request;
    const wait = now - request.arrivedAt;
    const limit = this.#limit.of(priority, false);
    const heavyLimit = this.#limit.of(priority, true);
    if (wait > limit) this.#reportShed(request, "wait", wait, limit);
    else if (wait > heavyLimit && subject !== undefined && this.#usage.isHeavy(subject, now)) {
      this.#reportShed(request, "heavy-subject", wait, heavyLimit);
    } else return false;
    return true;
  }

  #reportShed(request: DeferredRequest, reason: ShedReason, waitMs: number, limitMs: number): void {
    if (request.isGone()) return;
    this.#monitor.noteShed();
    this.#options.onShed({ request, reason, waitMs, limitMs });
  }
}

/** Responds to a request that is shed, if it still needs a response. */
function refuse(request: DeferredRequest): void {
  if (request.isGone()) request.drop();
  else request.reject();
}
