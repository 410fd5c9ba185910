import { background } from "../base/background.ts";
import type { HeadgateError } from "../base/errors.ts";
import { codeOf } from "../base/errors.ts";
import type { Waiting } from "../base/waiting-list.ts";
import { WaitingList } from "../base/waiting-list.ts";
import { probe, probeKeyFor } from "../store/probe.ts";
import type { Remote, SentCall, Step, Store } from "../store/store.ts";
import type { Connecting } from "./connecting.ts";
import type { Late } from "./outage.ts";
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
      /** The last call that was not sent. Its key is probed, too: trouble in one slot must not pass for trouble of the whole server for long. */
      last: WatchedCall;
      readonly recovery: Recovery;
    };

const NO_KEYS: readonly string[] = [];

function noop(): void {}

/** A call that is waited for no longer than a time. */
class WatchedCall implements SentCall, Waiting {
  keys: readonly string[] = NO_KEYS;
  weight = 1;
  clock = "";
  isOver = false;
  before: Waiting | undefined = undefined;
  after: Waiting | undefined = undefined;
  /** How many calls were sent by then, with this one. */
  number = 0;
  /** When it was sent, on the watch's clock. */
  sent = 0;
  readonly watch: NodeWatch;
  readonly store: Store;
  readonly step: Step<never>;
  readonly call: never;
  /** A key in the slot of the call. */
  readonly key: string;
  /** How much of its time was over when it was sent, in milliseconds. */
  readonly waitedMs: number;
  readonly late: Late | undefined;
  /** Settle the promise of the call. */
  onReply: (reply: readonly number[]) => void = noop;
  onError: (error: unknown) => void = noop;

  constructor(
    watch: NodeWatch,
    store: Store,
    step: Step<never>,
    call: never,
    key: string,
    waitedMs: number,
    late: Late | undefined,
  ) {
    this.watch = watch;
    this.store = store;
    this.step = step;
    this.call = call;
    this.key = key;
    this.waitedMs = waitedMs;
    this.late = late;
  }

  resolve(reply: readonly number[]): void {
    this.watch.answered(this, reply);
  }

  reject(error: unknown): void {
    this.watch.failed(this, error);
  }

  /** Finds out, off the path of any request, whether the server of the key answers. */
  probe(): Promise<unknown> {
    return this.store.run(probe, probeKeyFor(this.key));
  }

  /** Nothing waits for `late`, so its errors are dropped. */
  tellLate(reply: readonly number[] | undefined): void {
    if (this.late === undefined) return;
    try {
      background.runInAsyncScope(this.late, undefined, reply);
    } catch {}
  }
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
  readonly #waiting = new WaitingList<WatchedCall>();
  /** Those of them for which less time is left than for others. */
  readonly #hurried = new Set<WatchedCall>();
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

  /** Runs a call as `StoreWatch.run` does. Rejects at once if the server is down. */
  run<Call>(
    store: Store,
    step: Step<Call>,
    call: Call,
    key: string,
    waitedMs = 0,
    late?: Late,
  ): Promise<readonly number[]> {
    const watched = new WatchedCall(this, store, step as never, call as never, key, waitedMs, late);
    if (this.#period.is === "down") {
      this.#period.refused += 1;
      this.#period.last = watched;
      return Promise.reject(this.#period.reason);
    }
    return new Promise((resolve, reject) => {
      watched.onReply = resolve;
      watched.onError = reject;
      const { clock, connecting } = this.#options;
      watched.sent = this.#waiting.size === 0 ? clock.attend(this) : clock.now();
      if (!connecting.isOver) connecting.begin(watched.sent);
      this.#sent += 1;
      watched.number = this.#sent;
      this.#waiting.add(watched);
      if (waitedMs > 0) this.#hurried.add(watched);
      try {
        (store.remote as Remote).send(watched);
      } catch (error) {
        this.failed(watched, error);
      }
    });
  }

  /** Hears the reply to a call. A late one is refused: its units were charged, but the request was not admitted by it. */
  answered(call: WatchedCall, reply: readonly number[]): void {
    this.#leave(call, true);
    if (call.isOver) call.tellLate(reply);
    else call.onReply(reply);
  }

  /** Hears that a call failed. */
  failed(call: WatchedCall, error: unknown): void {
    const isAway = this.#options.isUnavailable(error);
    if (isAway) call.tellLate(undefined);
    if (!this.#leave(call, !isAway)) return;
    call.onError(error);
    if (isAway) this.#fail(call, error);
  }

  /** Takes a call off those that wait; false when it was given up. */
  #leave(call: WatchedCall, isAnswered: boolean): boolean {
    if (!this.#waiting.delete(call)) return false;
    const { clock, connecting } = this.#options;
    if (call.waitedMs > 0) this.#hurried.delete(call);
    if (isAnswered) this.#answered = this.#sent;
    if (isAnswered && !connecting.hasAnswered) connecting.answered(clock.now());
    if (this.#waiting.size === 0) clock.leave(this);
    return true;
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

  /** Milliseconds until a call is late. */
  #leftOf({ sent }: WatchedCall, now: number, waitedMs = 0): number {
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
      this.#leave(call, false);
      this.#fail(call, this.#giveUp(call));
    }
  }

  #giveUp(call: WatchedCall): HeadgateError {
    const { timeoutMs, connecting, late } = this.#options;
    const { sent, waitedMs } = call;
    const isUnconnected = connecting.until > sent + timeoutMs - waitedMs;
    const reason = late(
      sent <= connecting.failedAt ? undefined : isUnconnected ? connecting.connectMs : timeoutMs,
    );
    this.#hurried.delete(call);
    call.isOver = true;
    call.onError(reason);
    return reason;
  }

  #fail(call: WatchedCall, reason: HeadgateError): void {
    if (this.#isStopped || this.#period.is === "down" || this.#answered >= call.number) return;
    const since = performance.now();
    this.#relapses = since - this.#period.since < STEADY_MS ? this.#relapses + 1 : 0;
    let tries = 0;
    const recovery = startRecovery({
      attempt: () => {
        tries += 1;
        const last = this.#period.is === "down" ? this.#period.last : call;
        return this.#try(tries % 2 === 1 ? last : call);
      },
      withinMs: this.#options.timeoutMs,
      clock: this.#options.clock,
      skipped: this.#relapses,
      onSuccess: () => this.#recover(),
      onSilence: this.#options.onSilence,
    });
    this.#period = { is: "down", since, reason, refused: 0, recovery, last: call };
    this.#options.onDown(reason);
  }

  async #try(call: WatchedCall): Promise<void> {
    try {
      await call.probe();
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
