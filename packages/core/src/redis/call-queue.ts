import { background } from "../common/background.ts";
import type { ListNode } from "../common/linked-list.ts";
import { LinkedList } from "../common/linked-list.ts";
import type { PendingCall } from "../store/store.ts";
import type { SendSchedule } from "./send-schedule.ts";

/** The most calls in one batch: more would hardly make each one cheaper. */
export const MAX_BATCH_CALLS = 64;

/**
 * The most weight of the calls in one script. A decision on one counter weighs 1 and takes the server about 3 µs, so that other
 * clients wait for about a millisecond.
 */
const MAX_BATCH_WEIGHT = 256;

/**
 * Calls are collected once this many scripts are in flight, so that the server always has work while this process reads its
 * last reply.
 */
const COLLECT_FROM_IN_FLIGHT = 4;

/** A batch of this many is sent even if scripts are in flight. If there are more, half of them are sent at a time. */
export const FULL_BATCH = 32;

/** The most scripts in flight. */
const MAX_IN_FLIGHT = 16;

/**
 * A script without an answer after this time does not count as in flight: its connection may be lost while another one works.
 */
const LOST_SCRIPT_MS = 1_000;

/** The longest that a call waits for others. */
const MAX_WAIT_MS = 1;

class SentScript implements ListNode {
  previous: ListNode | undefined = undefined;
  next: ListNode | undefined = undefined;
  readonly sentAt: number = performance.now();
}

/**
 * Sends calls in one script. Calls `onEnd` once, when the script has been answered or has failed, and then settles the calls: a
 * call that is made because of a reply finds the script ended.
 */
export type SendScript = (calls: readonly PendingCall[], onEnd: () => void) => void;

/**
 * Sends the calls that may share a script. A single call is sent at the end of the tick in which it was made. Otherwise, calls
 * made in one turn of the event loop are sent together. While several scripts are in flight, calls are collected until one is
 * answered, there are enough, or a millisecond has passed.
 */
export class CallQueue {
  readonly #send: SendScript;
  readonly #schedule: SendSchedule;
  readonly #onIdle: (() => void) | undefined;
  /** Entries before `#next` have been sent. */
  #waiting: PendingCall[] = [];
  #next = 0;
  /** The scripts in flight, oldest first. */
  readonly #inFlight = new LinkedList<SentScript>();
  #isScheduled = false;
  /** Whether the last script had more than one call. */
  #wasBatch = false;
  #timer: NodeJS.Timeout | undefined;

  /** `onIdle` is called when nothing waits or is in flight. */
  constructor(send: SendScript, schedule: SendSchedule, onIdle?: () => void) {
    this.#send = send;
    this.#schedule = schedule;
    this.#onIdle = onIdle;
  }

  add(call: PendingCall): void {
    this.#waiting.push(call);
    if (this.#inFlight.size < COLLECT_FROM_IN_FLIGHT || this.#hasFullBatch()) this.#sendSoon();
    else this.#startTimer();
  }

  /** Sends everything that waits, so that it arrives before anything sent elsewhere afterwards. */
  flush(): void {
    if (this.#waiting.length > this.#next) background.runInAsyncScope(this.#sendAll, this);
  }

  /** The same if a call whose first key is this one waits. */
  flushIfWaiting(key: string): void {
    for (let i = this.#next; i < this.#waiting.length; i += 1) {
      if ((this.#waiting[i] as PendingCall).keys[0] !== key) continue;
      this.flush();
      return;
    }
  }

  #sendAll(): void {
    while (this.#waiting.length > this.#next && this.#inFlight.size < MAX_IN_FLIGHT) {
      this.#sendNext();
    }
  }

  /** Runs after everything that was requested in this tick, or turn. */
  #sendSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#inFlight.size === 0 && !this.#wasBatch) this.#schedule.atEndOfTick(this.#sendReady);
    else this.#schedule.inNextTurn(this.#sendReady);
  }

  #startTimer(): void {
    this.#timer ??= background.runInAsyncScope(() =>
      setTimeout(() => this.#onTimer(), MAX_WAIT_MS),
    );
  }

  /** Sends all calls, even those that could be collected for longer. */
  #onTimer(): void {
    this.#timer = undefined;
    if (this.#waiting.length === this.#next) return;
    this.#forgetLost();
    if (this.#inFlight.size < MAX_IN_FLIGHT) this.#sendNext();
    this.#sendReady();
  }

  /** Sends the calls that need not be collected for longer. */
  readonly #sendReady = (): void => {
    this.#isScheduled = false;
    while (this.#waiting.length > this.#next) {
      if (this.#inFlight.size >= COLLECT_FROM_IN_FLIGHT && !this.#hasFullBatch()) break;
      this.#sendNext();
    }
    if (this.#waiting.length > this.#next) this.#startTimer();
    else if (this.#inFlight.size === 0) this.#onIdle?.();
  };

  /** Whether enough calls wait to be sent even if several scripts are in flight. */
  #hasFullBatch(): boolean {
    return this.#waiting.length - this.#next >= FULL_BATCH && this.#inFlight.size < MAX_IN_FLIGHT;
  }

  #sendNext(): void {
    const calls = this.#takeBatch();
    if (calls.length === 0) return;
    this.#wasBatch = calls.length > 1;
    const script = new SentScript();
    this.#inFlight.add(script);
    this.#send(calls, () => this.#onScriptEnd(script));
  }

  /** Ends a script. Waiting calls are not among those that it answered. */
  #onScriptEnd(script: SentScript): void {
    this.#inFlight.delete(script);
    if (this.#waiting.length > this.#next) background.runInAsyncScope(this.#sendSoon, this);
    else if (this.#inFlight.size === 0) this.#onIdle?.();
  }

  /** The calls to send next. Abandoned calls are dropped, so that they cost nothing. */
  #takeBatch(): PendingCall[] {
    const waiting = this.#waiting;
    const length = waiting.length - this.#next;
    const maxCalls = Math.min(MAX_BATCH_CALLS, Math.max(FULL_BATCH, Math.ceil(length / 2)));
    const calls: PendingCall[] = [];
    const { clock, operation } = waiting[this.#next] as PendingCall;
    let weight = 0;
    for (; this.#next < waiting.length; this.#next += 1) {
      const call = waiting[this.#next] as PendingCall;
      if (call.isAbandoned && !call.operation.isFireAndForget) continue;
      weight += call.weight;
      const isFull = calls.length >= maxCalls || (weight > MAX_BATCH_WEIGHT && calls.length > 0);
      if (isFull || call.clock !== clock || call.operation !== operation) break;
      calls.push(call);
    }
    if (this.#next === waiting.length) this.#waiting = [];
    else if (this.#next * 2 >= waiting.length) this.#waiting = waiting.slice(this.#next);
    else return calls;
    this.#next = 0;
    return calls;
  }

  #forgetLost(): void {
    const now = performance.now();
    for (let { first } = this.#inFlight; first !== undefined; { first } = this.#inFlight) {
      if (now - first.sentAt < LOST_SCRIPT_MS) return;
      this.#inFlight.delete(first);
    }
  }
}
