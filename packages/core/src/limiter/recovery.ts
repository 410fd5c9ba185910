/** Milliseconds before a try: the first is soon, as most hiccups are over by then, and each one later is twice as late. */
const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 500;

/** A try without an answer is left alone after so many milliseconds: its connection may be lost, while a new one works. */
const PATIENCE_MS = 5_000;

/** So many tries without an answer may be left alone at once; a client keeps each of them somewhere. */
const MOST_UNANSWERED = 8;

/** Tries something, one try at a time, until it succeeds within a time. */
export interface Recovery {
  stop(): void;
}

export interface RecoveryOptions {
  readonly attempt: () => Promise<unknown>;
  /** Milliseconds within which an attempt must succeed. */
  readonly withinMs: number;
  /** How many delays are passed over at the start: more, for what was lost again soon. */
  readonly skipped: number;
  readonly onSuccess: () => void;
}

/** Starts trying. Its timers keep no process alive. */
export function startRecovery(options: RecoveryOptions): Recovery {
  const { attempt, withinMs, onSuccess } = options;
  let failures = options.skipped;
  let unanswered = 0;
  /** The attempt that is waited for; none between two of them. */
  let current: object | undefined;
  let isStopped = false;
  let timer: NodeJS.Timeout;

  function tryAfter(ms: number): void {
    current = undefined;
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(tryNow, ms).unref();
  }

  function tryNow(): void {
    if (unanswered >= MOST_UNANSWERED) {
      tryAfter(PATIENCE_MS);
      return;
    }
    const started = { at: performance.now() };
    current = started;
    unanswered += 1;
    timer = setTimeout(tryNow, PATIENCE_MS).unref();
    attempt().then(
      () => settle(started, true),
      () => settle(started, false),
    );
  }

  function settle(started: { readonly at: number }, succeeded: boolean): void {
    unanswered -= 1;
    const isCurrent = current === started;
    // Another is under way, or nothing is known from one that was left alone and failed.
    if (isStopped || (!isCurrent && (current !== undefined || !succeeded))) return;
    if (succeeded && performance.now() - started.at <= withinMs) {
      stop();
      onSuccess();
      return;
    }
    // Late is alive again, as a frozen server that was thawed: the next attempt will show.
    failures = succeeded ? 0 : failures + 1;
    tryAfter(delayAfter(failures));
  }

  function stop(): void {
    isStopped = true;
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
