import type { PendingCall } from "./call-batch.ts";

/**
 * So many calls go together at most. A decision takes about 2 µs of the server's time, one on a sliding log up to 10 µs: the
 * server answers somebody else after less than a millisecond. More of them would hardly make each one cheaper.
 */
export const MAX_TOGETHER = 64;

/**
 * So many scripts may be under way before calls gather, so that the server always has something to decide while this process
 * reads what it said last.
 */
const FEW_UNDER_WAY = 4;

/** So many are a batch worth sending though more scripts are under way. Of more than that half go at a time. */
export const ENOUGH = 32;

/** So many keys, for decisions of many units. */
const MAX_KEYS = 256;

/** So many scripts are under way at most. */
const MAX_UNDER_WAY = 16;

/** A script that has no answer after so long does not count as under way: its connection may be lost, and another one work. */
const LOST_MS = 1_000;

/** A call waits for company at most so long. */
const LONGEST_WAIT_MS = 1;

/**
 * Sends calls to one place. A lone call goes at the end of the tick in which it was made. Where calls have company, those that
 * are made in one turn of the event loop go together; while several scripts are under way they gather, until one is
 * answered, enough are there, or a millisecond is over.
 */
export class CallQueue {
  readonly #send: (calls: readonly PendingCall[]) => Promise<void>;
  readonly #onIdle: () => void;
  #waiting: PendingCall[] = [];
  /** When each script under way was sent, the oldest first. */
  readonly #underWay = new Set<{ readonly sent: number }>();
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
    else this.#timer ??= setTimeout(() => this.#hurry(), LONGEST_WAIT_MS);
  }

  /** After all that was asked for in this tick, or turn. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#underWay.size === 0 && !this.#hadCompany) process.nextTick(flush, this);
    else setImmediate(flush, this);
  }

  /** Sends also what would be better kept for company. */
  #hurry(): void {
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    this.#forgetLost();
    if (this.#underWay.size < MAX_UNDER_WAY) this.#sendNext();
    this.flush();
  }

  /** Sends what is not better kept for company. */
  flush(): void {
    this.#isScheduled = false;
    while (this.#isWorthSending()) this.#sendNext();
    if (this.#waiting.length > 0) {
      this.#timer ??= setTimeout(() => this.#hurry(), LONGEST_WAIT_MS);
    } else if (this.#underWay.size === 0) {
      this.#onIdle();
    }
  }

  #isWorthSending(): boolean {
    const { length } = this.#waiting;
    const { size } = this.#underWay;
    return size < FEW_UNDER_WAY ? length > 0 : length >= ENOUGH && size < MAX_UNDER_WAY;
  }

  #sendNext(): void {
    const calls = this.#take();
    if (calls.length > 0) void this.#sendTogether(calls);
  }

  async #sendTogether(calls: readonly PendingCall[]): Promise<void> {
    this.#hadCompany = calls.length > 1;
    const script = { sent: performance.now() };
    this.#underWay.add(script);
    await this.#send(calls);
    this.#underWay.delete(script);
    this.#schedule();
  }

  /** The calls that go next. Those whom nobody waits for any more are not sent at all: nothing is charged for them. */
  #take(): PendingCall[] {
    const waiting = this.#waiting;
    const most = Math.min(MAX_TOGETHER, Math.max(ENOUGH, Math.ceil(waiting.length / 2)));
    const calls: PendingCall[] = [];
    const clock = waiting[0]?.clock;
    let keys = 0;
    let taken = 0;
    for (const call of waiting) {
      const isFull = calls.length >= most || keys >= MAX_KEYS;
      if (isFull || call.clock !== clock) break;
      taken += 1;
      if (call.waiter?.isOver) continue;
      calls.push(call);
      keys += call.keys.length;
    }
    this.#waiting = taken === waiting.length ? [] : waiting.slice(taken);
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
