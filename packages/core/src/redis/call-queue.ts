import { nobody } from "../store/nobody.ts";
import type { PendingCall } from "./call-batch.ts";

/** The most calls in one batch: more would hardly make each one cheaper. */
export const MAX_TOGETHER = 64;

/**
 * The most that the calls of one script may weigh. A decision on one counter weighs 1 and takes the server about 3 µs, so it
 * can answer others after about a millisecond.
 */
const MAX_WEIGHT = 256;

/**
 * How many scripts may be in flight before calls are collected, so that the server always has something to decide while this process
 * reads its last reply.
 */
const FEW_UNDER_WAY = 4;

/** A batch of this many is sent even if scripts are in flight. From more than that, half go at a time. */
export const ENOUGH = 32;

/** The most scripts in flight. */
const MAX_UNDER_WAY = 16;

/** A script without an answer after this time does not count as in flight: its connection may be lost while another one works. */
const LOST_MS = 1_000;

/** The longest that a call waits for others. */
const LONGEST_WAIT_MS = 1;

interface SentScript {
  readonly sent: number;
}

/**
 * Sends calls to one place. A lone call is sent at the end of the tick in which it was made. If there are several, those that
 * are made in one turn of the event loop go together; while several scripts are in flight they are collected, until one is
 * answered, there are enough, or a millisecond is over.
 */
export class CallQueue {
  readonly #send: (calls: readonly PendingCall[]) => Promise<void>;
  readonly #onIdle: () => void;
  /** Those before `#next` have been sent. */
  #waiting: PendingCall[] = [];
  #next = 0;
  /** When each script under way was sent, the oldest first. */
  readonly #underWay = new Set<SentScript>();
  #isScheduled = false;
  /** Whether the last script had more than one call. */
  #hadCompany = false;
  #timer: NodeJS.Timeout | undefined;

  /** `send` settles the calls it is given, and never rejects. */
  constructor(send: (calls: readonly PendingCall[]) => Promise<void>, onIdle: () => void) {
    this.#send = send;
    this.#onIdle = onIdle;
  }

  add(call: PendingCall): void {
    this.#waiting.push(call);
    if (this.#isWorthSending()) this.#schedule();
    else this.#hurryLater();
  }

  /** Sends everything that waits, so that what is sent elsewhere afterwards also arrives afterwards. */
  hasten(): void {
    if (this.#length > 0) nobody.runInAsyncScope(this.#sendAll, this);
  }

  #sendAll(): void {
    while (this.#length > 0 && this.#underWay.size < MAX_UNDER_WAY) this.#sendNext();
  }

  get #length(): number {
    return this.#waiting.length - this.#next;
  }

  /** Runs after everything that was asked for in this tick, or turn. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#underWay.size === 0 && !this.#hadCompany) process.nextTick(flush, this);
    else nobody.runInAsyncScope(setImmediate, undefined, flush, this);
  }

  #hurryLater(): void {
    this.#timer ??= nobody.runInAsyncScope(() => setTimeout(() => this.#hurry(), LONGEST_WAIT_MS));
  }

  /** Sends everything, even what should rather wait for others. */
  #hurry(): void {
    this.#timer = undefined;
    if (this.#length === 0) return;
    this.#forgetLost();
    if (this.#underWay.size < MAX_UNDER_WAY) this.#sendNext();
    this.flush();
  }

  /** Sends what should not wait for others. */
  flush(): void {
    this.#isScheduled = false;
    while (this.#isWorthSending()) this.#sendNext();
    if (this.#length > 0) this.#hurryLater();
    else if (this.#underWay.size === 0) this.#onIdle();
  }

  #isWorthSending(): boolean {
    const { size } = this.#underWay;
    return size < FEW_UNDER_WAY ? this.#length > 0 : this.#length >= ENOUGH && size < MAX_UNDER_WAY;
  }

  #sendNext(): void {
    const calls = this.#take();
    if (calls.length === 0) return;
    this.#hadCompany = calls.length > 1;
    const script = { sent: performance.now() };
    this.#underWay.add(script);
    const end = (): void => this.#end(script);
    void this.#send(calls).then(end, end);
  }

  /** What waits is not part of what was answered. */
  #end(script: SentScript): void {
    this.#underWay.delete(script);
    if (this.#length > 0) nobody.runInAsyncScope(this.#schedule, this);
    else if (this.#underWay.size === 0) this.#onIdle();
  }

  /** The calls that go next. Calls that nobody waits for any more are not sent: they cost nothing. */
  #take(): PendingCall[] {
    const waiting = this.#waiting;
    const most = Math.min(MAX_TOGETHER, Math.max(ENOUGH, Math.ceil(this.#length / 2)));
    const calls: PendingCall[] = [];
    const { clock, step } = (waiting[this.#next] ?? {}) as Partial<PendingCall>;
    let weight = 0;
    for (; this.#next < waiting.length; this.#next += 1) {
      const call = waiting[this.#next] as PendingCall;
      if (call.waiter?.isOver) continue;
      weight += call.weight;
      const isFull = calls.length >= most || (weight > MAX_WEIGHT && calls.length > 0);
      if (isFull || call.clock !== clock || call.step !== step) break;
      calls.push(call);
    }
    if (this.#next * 2 >= waiting.length) {
      this.#waiting = waiting.slice(this.#next);
      this.#next = 0;
    }
    return calls;
  }

  #forgetLost(): void {
    const now = performance.now();
    for (const script of this.#underWay) {
      if (now - script.sent < LOST_MS) break;
      this.#underWay.delete(script);
    }
  }
}

function flush(queue: CallQueue): void {
  queue.flush();
}
