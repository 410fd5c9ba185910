import { background } from "../common/background.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { ListNode } from "../common/linked-list.ts";
import { LinkedList } from "../common/linked-list.ts";
import { probe, probeKeyFor } from "../operations/probe.ts";
import type { CountingStore, Operation, PendingCall, ScriptTransport } from "../store/store.ts";
import type { Connecting } from "./connect-grace.ts";
import type { Awaited } from "./event-loop-clock.ts";
import type { Late } from "./outage.ts";
import type { OutageOptions } from "./server-outages.ts";
import { ServerOutages } from "./server-outages.ts";

/** A timer may be a millisecond early. */
const EARLY_MS = 1;

const NO_KEYS: readonly string[] = [];

function noop(): void {}

/** A call with a time limit on its wait. */
class WatchedCall implements PendingCall, ListNode {
  keys: readonly string[] = NO_KEYS;
  weight = 1;
  clock = "";
  isAbandoned = false;
  previous: ListNode | undefined = undefined;
  next: ListNode | undefined = undefined;
  /** The number of calls sent by then, including this one. */
  number = 0;
  /** When it was sent, on the watch's clock. */
  sent = 0;
  readonly watch: ServerMonitor;
  readonly store: CountingStore;
  readonly operation: Operation<never>;
  readonly call: never;
  /** A key in the hash slot of the call. */
  readonly key: string;
  /** How much of its time had passed when it was sent, in milliseconds. */
  readonly waitedMs: number;
  readonly late: Late | undefined;
  /** Settle the promise of the call. */
  onReply: (reply: readonly number[]) => void = noop;
  onError: (error: unknown) => void = noop;

  constructor(
    watch: ServerMonitor,
    store: CountingStore,
    step: Operation<never>,
    call: never,
    key: string,
    waitedMs: number,
    late: Late | undefined,
  ) {
    this.watch = watch;
    this.store = store;
    this.operation = step;
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

  /** Checks, off the path of any request, whether the server of the key answers. */
  probe(): Promise<unknown> {
    return this.store.run(probe, probeKeyFor(this.key));
  }

  /** Errors of `late` are dropped, because no caller waits for it. */
  notifyLate(reply: readonly number[] | undefined): void {
    if (this.late === undefined) return;
    try {
      background.runInAsyncScope(this.late, undefined, reply);
    } catch {}
  }
}

export interface NodeWatchOptions extends OutageOptions {
  readonly connecting: Connecting;
  /** Whether an error means that the server did not answer. */
  readonly isUnavailable: (error: unknown) => error is HeadgateError;
  /** The error of a call that was not answered in time, or not after the client failed to connect. */
  readonly late: (withinMs: number | undefined) => HeadgateError;
}

/**
 * Limits the wait for one server, and does not wait at all while it is known to be down.
 *
 * A server is down if a call failed and the server has not answered anything in time since that call was sent. So one slow call
 * among many does not count, and the first failed call detects a silent server. It is up again once a probe was answered in
 * time.
 */
export class ServerMonitor implements Awaited {
  readonly keepsAlive = true;
  readonly #options: NodeWatchOptions;
  readonly #outages: ServerOutages;
  /** In the order of sending, so that the first is the first to be late. */
  readonly #waiting = new LinkedList<WatchedCall>();
  /** The calls among them that have less time left than others. */
  readonly #hurried = new Set<WatchedCall>();
  /** How many calls were sent, and how many of them before the last answer that came in time. */
  #sent = 0;
  #answered = 0;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
    this.#outages = new ServerOutages(options, () => this.#recovered());
  }

  get downReason(): HeadgateError | undefined {
    return this.#outages.current?.reason;
  }

  /** Undefined while it has neither answered anything nor been found silent. */
  get state(): "up" | "down" | undefined {
    if (this.#outages.current !== undefined) return "down";
    return this.#answered === 0 ? undefined : "up";
  }

  get isIdle(): boolean {
    return this.#outages.current === undefined && this.#waiting.size === 0;
  }

  /** Runs a call as `StoreMonitor.run` does. Rejects at once if the server is down. */
  run<Call>(
    store: CountingStore,
    step: Operation<Call>,
    call: Call,
    key: string,
    waitedMs = 0,
    late?: Late,
  ): Promise<readonly number[]> {
    const watched = new WatchedCall(this, store, step as never, call as never, key, waitedMs, late);
    const outage = this.#outages.current;
    if (outage !== undefined) {
      outage.refused += 1;
      outage.last = watched;
      return Promise.reject(outage.reason);
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
        (store.transport as ScriptTransport).send(watched);
      } catch (error) {
        this.failed(watched, error);
      }
    });
  }

  /** Receives the reply to a call. A late one is refused: its units were charged, but it did not admit the request. */
  answered(call: WatchedCall, reply: readonly number[]): void {
    this.#leave(call, true);
    if (call.isAbandoned) call.notifyLate(reply);
    else call.onReply(reply);
  }

  /** Receives the error of a call. */
  failed(call: WatchedCall, error: unknown): void {
    const isAway = this.#options.isUnavailable(error);
    if (isAway) call.notifyLate(undefined);
    if (!this.#leave(call, !isAway)) return;
    call.onError(error);
    if (isAway) this.#fail(call, error);
  }

  /** Removes a call from the waiting ones; false if it was given up before. */
  #leave(call: WatchedCall, isAnswered: boolean): boolean {
    if (!this.#waiting.delete(call)) return false;
    const { clock, connecting } = this.#options;
    if (call.waitedMs > 0) this.#hurried.delete(call);
    if (isAnswered) this.#answered = this.#sent;
    if (isAnswered && !connecting.hasAnswered) connecting.answered(clock.now());
    if (this.#waiting.size === 0) clock.leave(this);
    return true;
  }

  /** Stops trying to reach the server. Calls in progress are still given up in time. */
  stop(): void {
    this.#outages.stop();
  }

  onBeat(now: number): number {
    const { connecting } = this.#options;
    if (!connecting.isOver) connecting.look(now);
    const { first } = this.#waiting;
    let leftMs = first === undefined ? Number.POSITIVE_INFINITY : this.#leftOf(first, now);
    for (const call of this.#hurried)
      leftMs = Math.min(leftMs, this.#leftOf(call, now, call.waitedMs));
    // A process that was held up runs its timers before it reads the data that arrived meanwhile: an answer is late only if it
    // is missing after that.
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
    call.isAbandoned = true;
    call.onError(reason);
    return reason;
  }

  #fail(call: WatchedCall, reason: HeadgateError): void {
    if (this.#answered < call.number) this.#outages.begin(call, reason);
  }

  #recovered(): void {
    this.#answered = this.#sent;
    const { clock, connecting } = this.#options;
    if (!connecting.hasAnswered) connecting.answered(clock.now());
  }
}
