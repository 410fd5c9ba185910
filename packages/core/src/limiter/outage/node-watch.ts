import type { HeadgateError } from "../../errors.ts";
import { codeOf } from "../../errors.ts";
import type { Waiter } from "../../store/store.ts";
import type { Waiting } from "../line/waiting-list.ts";
import { WaitingList } from "../line/waiting-list.ts";
import type { Recovery } from "./recovery.ts";
import { startRecovery } from "./recovery.ts";

/** A server that is lost again within this many milliseconds is tried less often than the last time. */
const STEADY_MS = 5_000;

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
  readonly sent: number;
  /** How to find out, off the path of any request, whether the server answers again. */
  readonly probe: () => Promise<unknown>;
  readonly reject: (reason: HeadgateError) => void;
  /** Of a call for which less time is left than for others. */
  giveUp: NodeJS.Timeout | undefined;
}

export interface NodeWatchOptions {
  /** The longest wait for an answer. */
  readonly timeoutMs: number;
  /** Whether an error means that the server did not answer. */
  readonly isUnavailable: (error: unknown) => error is HeadgateError;
  /** The error of a call that was not answered in time. */
  readonly late: () => HeadgateError;
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
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  #period: Period = { is: "up", since: Number.NEGATIVE_INFINITY };
  /** In the order of sending, so that the first is the first to be late: one timer does for all. */
  readonly #waiting = new WaitingList<SentCall>();
  #timer: NodeJS.Timeout | undefined;
  /** When a call that was in time was answered last. */
  #answered = Number.NEGATIVE_INFINITY;
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
    return this.#answered === Number.NEGATIVE_INFINITY ? undefined : "up";
  }

  get isIdle(): boolean {
    return this.#period.is === "up" && this.#waiting.size === 0;
  }

  /**
   * Runs a call; rejects when it failed, was not answered in time, or was not sent because the server is down. `waitedMs` of its time
   * are over already; whether the server is down is told by the whole of it.
   */
  run<T>(
    send: (waiter: Waiter) => Promise<T>,
    probe: () => Promise<unknown>,
    waitedMs = 0,
  ): Promise<T> {
    if (this.#period.is === "down") {
      this.#period.refused += 1;
      this.#period.probe = probe;
      return Promise.reject(this.#period.reason);
    }
    return new Promise<T>((resolve, reject) => {
      const sent = performance.now();
      const call: SentCall = {
        isOver: false,
        sent,
        probe,
        reject,
        giveUp: undefined,
        before: undefined,
        after: undefined,
      };
      this.#waiting.add(call);
      if (waitedMs > 0) this.#giveUpAfter(call, this.#options.timeoutMs - waitedMs);
      this.#timer ??= setTimeout(() => this.#look(), this.#options.timeoutMs);
      // Only a call that is waited for keeps the process alive.
      if (this.#waiting.size === 1) this.#timer.ref();
      send(call).then(
        (reply) => {
          // A late answer is refused: it was charged, but admitted nobody.
          if (!this.#settle(call)) return;
          this.#answered = performance.now();
          resolve(reply);
        },
        (error: unknown) => {
          if (!this.#settle(call)) return;
          reject(error as Error);
          if (this.#options.isUnavailable(error)) this.#fail(call, error);
          else this.#answered = performance.now();
        },
      );
    });
  }

  /** Stops trying to reach the server. Calls that are under way are still given up in time. */
  stop(): void {
    this.#isStopped = true;
    if (this.#period.is === "down") this.#period.recovery.stop();
  }

  /** Takes a call off those that are waited for; false when it was given up. */
  #settle(call: SentCall): boolean {
    if (!this.#waiting.delete(call)) return false;
    clearTimeout(call.giveUp);
    if (this.#waiting.size === 0) this.#timer?.unref();
    return true;
  }

  #giveUpAfter(call: SentCall, leftMs: number): void {
    const giveUp = (): void => {
      call.isOver = true;
      call.reject(this.#options.late());
    };
    call.giveUp = setTimeout(() => setImmediate(giveUp), Math.max(0, leftMs));
  }

  /**
   * A process that was held up runs its timers before it reads what has arrived meanwhile: an answer is late only if it is not there
   * after that.
   */
  #look(): void {
    setImmediate(() => this.#giveUpLate());
  }

  #giveUpLate(): void {
    const { timeoutMs } = this.#options;
    this.#timer = undefined;
    const now = performance.now();
    for (let call = this.#waiting.first; call !== undefined; call = this.#waiting.first) {
      const leftMs = call.sent + timeoutMs - now;
      // A timer may be a millisecond early; more than all of the time is left where the clock was set back, as tests do.
      if (leftMs > 1 && leftMs <= timeoutMs) {
        this.#timer = setTimeout(() => this.#look(), leftMs);
        return;
      }
      this.#waiting.delete(call);
      call.isOver = true;
      const reason = this.#options.late();
      call.reject(reason);
      this.#fail(call, reason);
    }
  }

  #fail(call: SentCall, reason: HeadgateError): void {
    if (this.#isStopped || this.#period.is === "down" || this.#answered > call.sent) return;
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
    this.#answered = now;
    this.#options.onUp(now - since, refused);
  }
}
