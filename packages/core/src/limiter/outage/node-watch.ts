import type { HeadgateError } from "../../errors.ts";
import { codeOf } from "../../errors.ts";
import type { Waiter } from "../../store/store.ts";
import type { Waiting } from "../line/waiting-list.ts";
import { WaitingList } from "../line/waiting-list.ts";
import type { Connecting } from "./connecting.ts";
import type { Recovery } from "./recovery.ts";
import { startRecovery } from "./recovery.ts";
import type { Awaited, RunningClock } from "./running-clock.ts";

/** A server that is lost again within this many milliseconds is tried less often than the last time. */
const STEADY_MS = 5_000;

/** A timer may be a millisecond early. */
const EARLY_MS = 1;

/** The state of a server; each period is an object of its own. */
type Period =
  | { readonly is: "up"; readonly since: number }
  | {
      readonly is: "down";
      readonly since: number;
      /** Why it does not answer, as far as is known by now. */
      reason: HeadgateError;
      /** Calls that were not sent. */
      refused: number;
      /** The probe of the last call that was not sent: trouble in one slot must not pass for trouble of the whole server for long. */
      probe: () => Promise<unknown>;
      readonly recovery: Recovery;
    };

/** A call that was sent and is waited for. */
interface SentCall extends Waiter, Waiting {
  isOver: boolean;
  /** How many calls were sent before, and when, on the watch's clock. */
  readonly number: number;
  readonly sent: number;
  /** How to find out, off the path of any request, whether the server answers again. */
  readonly probe: () => Promise<unknown>;
  readonly reject: (reason: HeadgateError) => void;
  /** How much of its time was over when it was sent. */
  readonly waitedMs: number;
}

export interface NodeWatchOptions {
  /** The longest wait for an answer, in milliseconds of `clock`. */
  readonly timeoutMs: number;
  readonly clock: RunningClock;
  readonly connecting: Connecting;
  /** Whether an error means that the server did not answer. */
  readonly isUnavailable: (error: unknown) => error is HeadgateError;
  /** The error of a call that was not answered in time, or not after the client failed to connect. */
  readonly late: (withinMs: number | undefined) => HeadgateError;
  /** Called each second in which the server that is down says nothing at all. */
  readonly onSilence: () => void;
  /** Called with why a probe failed; it may be that the server is back, and set up otherwise. */
  readonly onProbeFailure: (error: HeadgateError) => void;
  readonly onDown: (reason: HeadgateError) => void;
  readonly onUp: (downMs: number, refused: number) => void;
}

/**
 * Waits for one server no longer than a time, and not at all while it is known to be down.
 *
 * It is down when a call failed and the server has answered nothing in time since that call was sent; so one slow call
 * among many does not count, and a silent server is found out by the first. It is up again once a probe was answered in time.
 */
export class NodeWatch implements Awaited {
  readonly keepsAlive = true;
  readonly #options: NodeWatchOptions;
  #period: Period = { is: "up", since: Number.NEGATIVE_INFINITY };
  /** In the order of sending, so that the first is the first to be late. */
  readonly #waiting = new WaitingList<SentCall>();
  /** Those of them for which less time is left than for others. */
  readonly #hurried = new Set<SentCall>();
  /** How many calls were sent, and how many until the last answer that came in time. */
  #sent = 0;
  #answered = 0;
  /** How often the server was lost again soon after it had come back. */
  #relapses = 0;
  #isStopped = false;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  get downReason(): HeadgateError | undefined {
    return this.#period.is === "down" ? this.#period.reason : undefined;
  }

  /** Undefined as long as it has answered nothing, and none of its silences was noticed. */
  get state(): "up" | "down" | undefined {
    if (this.#period.is === "down") return "down";
    return this.#answered === 0 ? undefined : "up";
  }

  get isIdle(): boolean {
    return this.#period.is === "up" && this.#waiting.size === 0;
  }

  /**
   * Runs a call; rejects when it failed, was not answered in time, or was not sent because the server is down. `waitedMs` of its time
   * are over already; whether the server is down is told by the whole of it. `late` as in `StoreWatch.run`.
   */
  run<T>(
    send: (waiter: Waiter) => Promise<T>,
    probe: () => Promise<unknown>,
    waitedMs = 0,
    late: ((reply: T | undefined) => void) | undefined = undefined,
  ): Promise<T> {
    if (this.#period.is === "down") {
      this.#period.refused += 1;
      this.#period.probe = probe;
      return Promise.reject(this.#period.reason);
    }
    const { clock, connecting } = this.#options;
    return new Promise<T>((resolve, reject) => {
      const sent = this.#waiting.size === 0 ? clock.attend(this) : clock.now();
      if (!connecting.isOver) connecting.begin(sent);
      this.#sent += 1;
      const call: SentCall = {
        isOver: false,
        number: this.#sent,
        sent,
        probe,
        reject,
        waitedMs,
        before: undefined,
        after: undefined,
      };
      this.#waiting.add(call);
      if (waitedMs > 0) this.#hurried.add(call);
      send(call).then(
        (reply) => {
          // A late answer is refused: it was charged, but admitted nobody.
          if (this.#settle(call, true)) resolve(reply);
          else tell(late, reply);
        },
        (error: unknown) => {
          const isAway = this.#options.isUnavailable(error);
          if (isAway) tell(late, undefined);
          if (!this.#settle(call, !isAway)) return;
          reject(error as Error);
          if (isAway) this.#fail(call, error);
        },
      );
    });
  }

  /** Stops trying to reach the server. Calls that are under way are still given up in time. */
  stop(): void {
    this.#isStopped = true;
    if (this.#period.is === "down") this.#period.recovery.stop();
  }

  onBeat(now: number): number {
    const { connecting } = this.#options;
    if (!connecting.isOver) connecting.look(now);
    const { first } = this.#waiting;
    let leftMs = first === undefined ? Number.POSITIVE_INFINITY : this.#leftOf(first, now);
    for (const call of this.#hurried)
      leftMs = Math.min(leftMs, this.#leftOf(call, now, call.waitedMs));
    // A process that was held up runs its timers before it reads what has arrived meanwhile: an answer is late only if it is not
    // there after that.
    if (leftMs <= EARLY_MS) setImmediate(() => this.#giveUpLate(now));
    return leftMs;
  }

  /** Takes a call off those that are waited for; false when it was given up. */
  #settle(call: SentCall, isAnswered: boolean): boolean {
    if (!this.#waiting.delete(call)) return false;
    const { clock, connecting } = this.#options;
    if (call.waitedMs > 0) this.#hurried.delete(call);
    if (isAnswered) this.#answered = this.#sent;
    if (isAnswered && !connecting.hasAnswered) connecting.answered(clock.now());
    if (this.#waiting.size === 0) clock.leave(this);
    return true;
  }

  /** Milliseconds until a call is late. */
  #leftOf({ sent }: SentCall, now: number, waitedMs = 0): number {
    const { timeoutMs, connecting } = this.#options;
    if (sent <= connecting.failedAt) return 0;
    return Math.max(sent + timeoutMs - waitedMs, connecting.until) - now;
  }

  #giveUpLate(now: number): void {
    for (const call of this.#hurried) {
      if (this.#leftOf(call, now, call.waitedMs) <= EARLY_MS) this.#giveUp(call);
    }
    for (let call = this.#waiting.first; call !== undefined; call = this.#waiting.first) {
      if (this.#leftOf(call, now) > EARLY_MS) return;
      this.#settle(call, false);
      this.#fail(call, this.#giveUp(call));
    }
  }

  #giveUp(call: SentCall): HeadgateError {
    const { timeoutMs, connecting, late } = this.#options;
    const { sent, waitedMs } = call;
    const isUnconnected = connecting.until > sent + timeoutMs - waitedMs;
    const reason = late(
      sent <= connecting.failedAt ? undefined : isUnconnected ? connecting.connectMs : timeoutMs,
    );
    this.#hurried.delete(call);
    call.isOver = true;
    call.reject(reason);
    return reason;
  }

  #fail(call: SentCall, reason: HeadgateError): void {
    if (this.#isStopped || this.#period.is === "down" || this.#answered >= call.number) return;
    const since = performance.now();
    this.#relapses = since - this.#period.since < STEADY_MS ? this.#relapses + 1 : 0;
    let tries = 0;
    const recovery = startRecovery({
      attempt: () => {
        tries += 1;
        const last = this.#period.is === "down" ? this.#period.probe : call.probe;
        return this.#try(tries % 2 === 1 ? last : call.probe);
      },
      withinMs: this.#options.timeoutMs,
      clock: this.#options.clock,
      skipped: this.#relapses,
      onSuccess: () => this.#recover(),
      onSilence: this.#options.onSilence,
    });
    this.#period = { is: "down", since, reason, refused: 0, recovery, probe: call.probe };
    this.#options.onDown(reason);
  }

  async #try(probe: () => Promise<unknown>): Promise<void> {
    try {
      await probe();
    } catch (error) {
      if (this.#period.is === "down" && codeOf(error) !== undefined) {
        this.#period.reason = error as HeadgateError;
        this.#options.onProbeFailure(error as HeadgateError);
      }
      throw error;
    }
  }

  #recover(): void {
    const { since, refused } = this.#period as Extract<Period, { is: "down" }>;
    const now = performance.now();
    this.#period = { is: "up", since: now };
    this.#answered = this.#sent;
    const { clock, connecting, onUp } = this.#options;
    if (!connecting.hasAnswered) connecting.answered(clock.now());
    onUp(now - since, refused);
  }
}

/** Nothing waits for `late`, so what it throws is dropped. */
function tell<T>(late: ((reply: T | undefined) => void) | undefined, reply: T | undefined): void {
  try {
    late?.(reply);
  } catch {}
}
