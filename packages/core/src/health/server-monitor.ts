import { background } from "../common/background.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { ListNode } from "../common/linked-list.ts";
import { LinkedList } from "../common/linked-list.ts";
import { probe, probeKeyFor } from "../operations/probe.ts";
import type { CountingStore, Operation, PendingCall, ScriptTransport } from "../store/store.ts";
import type { ConnectGrace } from "./connect-grace.ts";
import type { ClockListener } from "./event-loop-clock.ts";
import type { OutageOptions } from "./server-outages.ts";
import { ServerOutages } from "./server-outages.ts";

/** A timer may be a millisecond early. */
const EARLY_MS = 1;

const NO_KEYS: readonly string[] = [];

function noop(): void {}

/** A call with a timeout. */
class MonitoredCall implements PendingCall, ListNode {
  keys: readonly string[] = NO_KEYS;
  weight = 1;
  clock = "";
  isAbandoned = false;
  previous: ListNode | undefined = undefined;
  next: ListNode | undefined = undefined;
  /** The number of calls sent until then, including this one. */
  sequence = 0;
  /** When it was sent, on the monitor's clock. */
  sentAt = 0;
  readonly monitor: ServerMonitor;
  readonly store: CountingStore;
  readonly operation: Operation<never, unknown>;
  readonly call: never;
  /** A key in the hash slot of the call. */
  readonly key: string;
  /** Milliseconds of its timeout that had passed when it was sent. */
  readonly usedTimeoutMs: number;
  readonly onLateReply: OnLateReply<never> | undefined;
  /** `onReply` and `onError` settle the promise of the call. */
  onReply: (reply: never) => void = noop;
  onError: (error: unknown) => void = noop;

  constructor(
    monitor: ServerMonitor,
    store: CountingStore,
    operation: Operation<never, unknown>,
    call: never,
    key: string,
    usedTimeoutMs: number,
    onLateReply: OnLateReply<never> | undefined,
  ) {
    this.monitor = monitor;
    this.store = store;
    this.operation = operation;
    this.call = call;
    this.key = key;
    this.usedTimeoutMs = usedTimeoutMs;
    this.onLateReply = onLateReply;
  }

  resolve(reply: unknown): void {
    this.monitor.onReply(this, reply);
  }

  reject(error: unknown): void {
    this.monitor.onError(this, error);
  }

  /** Checks, off the path of any request, whether the server of the key answers. */
  probe(): Promise<unknown> {
    return this.store.run(probe, probeKeyFor(this.key));
  }

  /** Errors of `onLateReply` are dropped, because no caller waits for it. */
  notifyLate(reply: unknown): void {
    if (this.onLateReply === undefined) return;
    try {
      background.runInAsyncScope(this.onLateReply, undefined, reply as never);
    } catch {}
  }
}

export interface ServerMonitorOptions extends OutageOptions {
  readonly connectGrace: ConnectGrace;
  /** Whether an error means that the server could not answer. */
  readonly isUnavailable: (error: unknown) => error is HeadgateError;
  /** The error of a call that was not answered in time, or not after the client failed to connect. */
  readonly unansweredError: (withinMs: number | undefined) => HeadgateError;
}

/**
 * Times out calls to one server, and rejects them at once while it is known to be down.
 *
 * A server is down if a call failed and the server has not answered anything in time since that call was sent. So one slow call
 * among many does not count, and the first failed call detects a silent server. It is up again once a probe was answered in
 * time.
 */
export class ServerMonitor implements ClockListener {
  readonly keepsAlive = true;
  readonly #options: ServerMonitorOptions;
  readonly #outages: ServerOutages;
  /** In the order of sending, so that the first is the first to be late. */
  readonly #waiting = new LinkedList<MonitoredCall>();
  /** The calls among them with a shorter timeout, because they have waited before. */
  readonly #earlyDeadlines = new Set<MonitoredCall>();
  /**
   * Whether the clock calls `onTick`. It does so until the first tick at which no call waits, because a listener added and removed by
   * every single call would cost more than such a tick.
   */
  #isListening = false;
  /** The number of calls sent, and the number of them sent before the last reply in time. */
  #sentCount = 0;
  #answeredCount = 0;

  constructor(options: ServerMonitorOptions) {
    this.#options = options;
    this.#outages = new ServerOutages(options, () => this.#onRecovered());
  }

  get downReason(): HeadgateError | undefined {
    return this.#outages.current?.reason;
  }

  /** Undefined while it has neither answered nor timed out. */
  get state(): "up" | "down" | undefined {
    if (this.#outages.current !== undefined) return "down";
    return this.#answeredCount === 0 ? undefined : "up";
  }

  get isIdle(): boolean {
    return this.#outages.current === undefined && this.#waiting.size === 0;
  }

  /** Runs a call as `StoreMonitor.run` does. Rejects at once if the server is down. */
  run<Call, Reply>(
    store: CountingStore,
    operation: Operation<Call, Reply>,
    call: Call,
    key: string,
    usedTimeoutMs = 0,
    onLateReply?: OnLateReply<Reply>,
  ): Promise<Reply> {
    const monitored = new MonitoredCall(
      this,
      store,
      operation as unknown as Operation<never, unknown>,
      call as never,
      key,
      usedTimeoutMs,
      onLateReply,
    );
    const outage = this.#outages.current;
    if (outage !== undefined) {
      outage.rejectedCalls += 1;
      outage.lastRejected = monitored;
      return Promise.reject(outage.reason);
    }
    return new Promise((resolve, reject) => {
      monitored.onReply = resolve;
      monitored.onError = reject;
      const { clock, connectGrace } = this.#options;
      monitored.sentAt = this.#isListening ? clock.now() : clock.addListener(this);
      this.#isListening = true;
      if (!connectGrace.isOver) connectGrace.onCall(monitored.sentAt);
      this.#sentCount += 1;
      monitored.sequence = this.#sentCount;
      this.#waiting.add(monitored);
      if (usedTimeoutMs > 0) this.#earlyDeadlines.add(monitored);
      try {
        (store.transport as ScriptTransport).send(monitored);
      } catch (error) {
        this.onError(monitored, error);
      }
    });
  }

  /** Receives the reply to a call. A late one does not admit its request, although its units were charged. */
  onReply(call: MonitoredCall, reply: unknown): void {
    this.#remove(call, true);
    if (call.isAbandoned) call.notifyLate(reply);
    else call.onReply(reply as never);
  }

  /** Receives the error of a call. */
  onError(call: MonitoredCall, error: unknown): void {
    const isUnreachable = this.#options.isUnavailable(error);
    if (isUnreachable) call.notifyLate(undefined);
    if (!this.#remove(call, !isUnreachable)) return;
    call.onError(error);
    if (isUnreachable) this.#detectOutage(call, error);
  }

  /** Removes a call from the waiting ones. False if it has timed out before. */
  #remove(call: MonitoredCall, isAnswered: boolean): boolean {
    if (!this.#waiting.delete(call)) return false;
    const { clock, connectGrace } = this.#options;
    if (call.usedTimeoutMs > 0) this.#earlyDeadlines.delete(call);
    if (isAnswered) this.#answeredCount = this.#sentCount;
    if (isAnswered && !connectGrace.hasAnswered) connectGrace.onReply(clock.now());
    return true;
  }

  /** Stops probing the server. Calls in flight still time out. */
  stop(): void {
    this.#outages.stop();
  }

  onTick(now: number): number | undefined {
    const { first } = this.#waiting;
    this.#isListening = first !== undefined;
    if (first === undefined) return undefined;
    const { connectGrace } = this.#options;
    if (!connectGrace.isOver) connectGrace.update(now);
    let leftMs = this.#remainingMs(first, now);
    for (const call of this.#earlyDeadlines)
      leftMs = Math.min(leftMs, this.#remainingMs(call, now, call.usedTimeoutMs));
    // A stalled process runs its timers before it reads the data that arrived meanwhile: a reply is late only if it is missing
    // after that.
    if (leftMs <= EARLY_MS) setImmediate(() => this.#giveUpLate(now));
    return leftMs;
  }

  /** Milliseconds until a call is late. */
  #remainingMs({ sentAt }: MonitoredCall, now: number, usedTimeoutMs = 0): number {
    const { timeoutMs, connectGrace } = this.#options;
    if (sentAt <= connectGrace.failedAt) return 0;
    return Math.max(sentAt + timeoutMs - usedTimeoutMs, connectGrace.until) - now;
  }

  #giveUpLate(now: number): void {
    for (const call of this.#earlyDeadlines) {
      if (this.#remainingMs(call, now, call.usedTimeoutMs) <= EARLY_MS) this.#giveUp(call);
    }
    for (let call = this.#waiting.first; call !== undefined; call = this.#waiting.first) {
      if (this.#remainingMs(call, now) > EARLY_MS) return;
      this.#remove(call, false);
      this.#detectOutage(call, this.#giveUp(call));
    }
  }

  #giveUp(call: MonitoredCall): HeadgateError {
    const { timeoutMs, connectGrace, unansweredError } = this.#options;
    const { sentAt, usedTimeoutMs } = call;
    const usedConnectTimeout = connectGrace.until > sentAt + timeoutMs - usedTimeoutMs;
    const reason = unansweredError(
      sentAt <= connectGrace.failedAt
        ? undefined
        : usedConnectTimeout
          ? connectGrace.connectMs
          : timeoutMs,
    );
    this.#earlyDeadlines.delete(call);
    call.isAbandoned = true;
    call.onError(reason);
    return reason;
  }

  #detectOutage(call: MonitoredCall, reason: HeadgateError): void {
    if (this.#answeredCount < call.sequence) this.#outages.begin(call, reason);
  }

  #onRecovered(): void {
    this.#answeredCount = this.#sentCount;
    const { clock, connectGrace } = this.#options;
    if (!connectGrace.hasAnswered) connectGrace.onReply(clock.now());
  }
}

/**
 * Called for a call that may have taken effect after its caller gave up: with its late reply, or undefined if the store could
 * not answer.
 */
export type OnLateReply<Reply> = (reply: Reply | undefined) => void;
