import type { Awaited, RunningClock } from "./event-loop-clock.ts";

/** Milliseconds before a try: the first is soon, because most hiccups are over by then, and the delay doubles each time. */
const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 500;

/** How often to report that a try has no answer yet. */
const SILENCE_MS = 1_000;

/** A try is abandoned after this many of these: its connection may be lost while a new one works. */
const PATIENCE = 5;

/** The most abandoned tries at once, because a client keeps each of them in memory. */
const MOST_UNANSWERED = 8;

/** A try that was not answered yet. */
class Attempt implements Awaited {
  readonly keepsAlive = false;
  isLate = false;
  readonly #clock: RunningClock;
  readonly #until: number;

  constructor(clock: RunningClock, withinMs: number) {
    this.#clock = clock;
    this.#until = clock.attend(this) + withinMs;
  }

  onBeat(now: number): number {
    if (now <= this.#until) return this.#until - now + 1;
    this.end();
    return Number.POSITIVE_INFINITY;
  }

  /** Marks it as answered. */
  end(): void {
    this.isLate ||= this.#clock.now() > this.#until;
    this.#clock.leave(this);
  }
}

/** Retries something, one try at a time, until it succeeds within a time. */
export interface Recovery {
  stop(): void;
}

export interface RecoveryOptions {
  readonly attempt: () => Promise<unknown>;
  /** Milliseconds of `clock` within which an attempt must succeed. */
  readonly withinMs: number;
  readonly clock: RunningClock;
  /** How many delays to skip at the start: more if the server was soon lost again. */
  readonly skipped: number;
  readonly onSuccess: () => void;
  /** Called each second while there is no answer, good or bad. */
  readonly onSilence: () => void;
}

/** Starts trying. Its timers keep no process alive. */
export function startRecovery(options: RecoveryOptions): Recovery {
  const { attempt, withinMs, clock, onSuccess, onSilence } = options;
  let failures = options.skipped;
  let unanswered = 0;
  /** The current attempt; undefined between two of them. */
  let current: Attempt | undefined;
  let isStopped = false;
  let timer: NodeJS.Timeout;

  function tryAfter(ms: number): void {
    current = undefined;
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(tryNow, ms).unref();
  }

  function tryNow(): void {
    current = undefined;
    waitForAnswer(PATIENCE);
    if (unanswered >= MOST_UNANSWERED) return;
    const started = new Attempt(clock, withinMs);
    current = started;
    unanswered += 1;
    attempt().then(
      () => settle(started, true),
      () => settle(started, false),
    );
  }

  function waitForAnswer(patience: number): void {
    const giveUp = (): void => {
      onSilence();
      if (patience > 1) waitForAnswer(patience - 1);
      else tryNow();
    };
    timer = setTimeout(giveUp, SILENCE_MS).unref();
  }

  function settle(started: Attempt, succeeded: boolean): void {
    unanswered -= 1;
    started.end();
    const isCurrent = current === started;
    // Another one is in progress; or an abandoned one failed, which tells nothing.
    if (isStopped || (!isCurrent && (current !== undefined || !succeeded))) return;
    if (succeeded && !started.isLate) {
      stop();
      onSuccess();
      return;
    }
    // A late answer means that the server is alive again: the next attempt will show.
    failures = succeeded ? 0 : failures + 1;
    tryAfter(delayAfter(failures));
  }

  function stop(): void {
    isStopped = true;
    current?.end();
    clearTimeout(timer);
  }

  tryAfter(delayAfter(failures));
  return { stop };
}

/** Doubles, and varies by half, so that many processes do not try in step. */
function delayAfter(failures: number): number {
  const longest = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return longest * (0.5 + Math.random() / 2);
}
