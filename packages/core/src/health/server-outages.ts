import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { ClockListener, EventLoopClock } from "./event-loop-clock.ts";

/** A server that fails again within this many milliseconds is probed less often than the last time. */
const RELAPSE_MS = 5_000;

/** A call whose server can be probed. */
interface ProbeTarget {
  /** Checks, outside any request, whether the server of its key answers. */
  probe(): Promise<unknown>;
}

export interface OutageOptions {
  /** The longest wait for an answer, in milliseconds of `clock`. */
  readonly timeoutMs: number;
  readonly clock: EventLoopClock;
  /** Called each second in which the unavailable server does not respond at all. */
  readonly onSilence: () => void;
  /** Called with the error of a failed probe; the server may be back with another configuration. */
  readonly onProbeFailure: (error: HeadgateError) => void;
  readonly onDown: (reason: HeadgateError) => void;
  readonly onUp: (downMs: number, rejectedCalls: number) => void;
}

/** A period in which a server does not answer; each outage is a separate object. */
interface Outage {
  readonly startedAt: number;
  /** The last known reason. */
  reason: HeadgateError;
  /** The number of calls that were not sent. */
  rejectedCalls: number;
  /**
   * The last call that was not sent. Its key is probed, too, so that a problem of one hash slot does not count as an outage of
   * the whole server for long.
   */
  lastRejected: ProbeTarget;
  readonly recovery: Recovery;
}

/** The outages of one server. In each, the server is probed until it answers. */
export class ServerOutages {
  /** Undefined while the server is up. A field, because every call reads it. */
  current: Outage | undefined = undefined;
  readonly #options: OutageOptions;
  readonly #onRecovered: () => void;
  /** When the last outage ended. */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** How often the server failed again soon after a recovery. */
  #relapses = 0;
  #isStopped = false;

  /** `onRecovered` is called first when the server answers again. */
  constructor(options: OutageOptions, onRecovered: () => void) {
    this.#options = options;
    this.#onRecovered = onRecovered;
  }

  /** Begins an outage detected by a call, unless there is one already. */
  begin(call: ProbeTarget, reason: HeadgateError): void {
    if (this.#isStopped || this.current !== undefined) return;
    const startedAt = performance.now();
    this.#relapses = startedAt - this.#endedAt < RELAPSE_MS ? this.#relapses + 1 : 0;
    let tries = 0;
    const recovery = startRecovery({
      attempt: () => {
        tries += 1;
        return this.#try(tries % 2 === 1 ? (this.current?.lastRejected ?? call) : call);
      },
      withinMs: this.#options.timeoutMs,
      clock: this.#options.clock,
      initialFailures: this.#relapses,
      onSuccess: () => this.#end(),
      onSilence: this.#options.onSilence,
    });
    this.current = { startedAt, reason, rejectedCalls: 0, recovery, lastRejected: call };
    this.#options.onDown(reason);
  }

  stop(): void {
    this.#isStopped = true;
    this.current?.recovery.stop();
  }

  async #try(call: ProbeTarget): Promise<void> {
    try {
      await call.probe();
    } catch (error) {
      if (this.current !== undefined && codeOf(error) !== undefined) {
        this.current.reason = error as HeadgateError;
        this.#options.onProbeFailure(error as HeadgateError);
      }
      throw error;
    }
  }

  #end(): void {
    const { startedAt, rejectedCalls } = this.current as Outage;
    const now = performance.now();
    this.current = undefined;
    this.#endedAt = now;
    this.#onRecovered();
    this.#options.onUp(now - startedAt, rejectedCalls);
  }
}

/**
 * Milliseconds before an attempt. The first delay is short, because most outages are short, and the delay doubles each time.
 */
const FIRST_DELAY_MS = 20;

const MAX_DELAY_MS = 500;

/** How often to report that an attempt has no reply yet. */
const SILENCE_REPORT_INTERVAL_MS = 1_000;

/** An attempt is abandoned after this many silences: its connection may be lost while a new one works. */
const SILENCES_PER_ATTEMPT = 5;

/** The most unanswered attempts at once, because a client keeps each of them in memory. */
const MAX_UNANSWERED = 8;

class Attempt implements ClockListener {
  readonly keepsAlive = false;
  isLate = false;
  readonly #clock: EventLoopClock;
  readonly #until: number;

  constructor(clock: EventLoopClock, withinMs: number) {
    this.#clock = clock;
    this.#until = clock.addListener(this) + withinMs;
  }

  onTick(now: number): number | undefined {
    if (now <= this.#until) return this.#until - now + 1;
    this.isLate = true;
    return undefined;
  }

  /** Marks it as answered. */
  end(): void {
    this.isLate ||= this.#clock.now() > this.#until;
    this.#clock.removeListener(this);
  }
}

/** Repeats an attempt, one at a time, until it succeeds in time. */
interface Recovery {
  stop(): void;
}

interface RecoveryOptions {
  readonly attempt: () => Promise<unknown>;
  /** Milliseconds of `clock` within which an attempt must succeed. */
  readonly withinMs: number;
  readonly clock: EventLoopClock;
  /** Failures counted before the first attempt, for a longer first delay if the server was soon lost again. */
  readonly initialFailures: number;
  readonly onSuccess: () => void;
  /** Called each second without a reply or an error. */
  readonly onSilence: () => void;
}

/** Starts making attempts. Its timers do not keep the process alive. */
export function startRecovery(options: RecoveryOptions): Recovery {
  const { attempt, withinMs, clock, onSuccess, onSilence } = options;
  let failures = options.initialFailures;
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
    waitForReply(SILENCES_PER_ATTEMPT);
    if (unanswered >= MAX_UNANSWERED) return;
    const started = new Attempt(clock, withinMs);
    current = started;
    unanswered += 1;
    attempt().then(
      () => onAttemptEnd(started, true),
      () => onAttemptEnd(started, false),
    );
  }

  function waitForReply(silencesLeft: number): void {
    const giveUp = (): void => {
      onSilence();
      if (silencesLeft > 1) waitForReply(silencesLeft - 1);
      else tryNow();
    };
    timer = setTimeout(giveUp, SILENCE_REPORT_INTERVAL_MS).unref();
  }

  function onAttemptEnd(started: Attempt, succeeded: boolean): void {
    unanswered -= 1;
    started.end();
    const isCurrent = current === started;
    // Another attempt is in progress; or an abandoned one failed, which shows nothing.
    if (isStopped || (!isCurrent && (current !== undefined || !succeeded))) return;
    if (succeeded && !started.isLate) {
      stop();
      onSuccess();
      return;
    }
    // A late reply means that the server is alive again: the next attempt will show it.
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

/**
 * The delay in milliseconds. It doubles with each failure, with random jitter of up to a half, so that many processes do not
 * probe at once.
 */
function delayAfter(failures: number): number {
  const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return longest * (0.5 + Math.random() / 2);
}
