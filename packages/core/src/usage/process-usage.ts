import { Alarm, spread, weakCallback } from "../common/background.ts";
import { HeadgateError } from "../common/errors.ts";
import { newProcessName } from "../registry/process-name.ts";
import { refusalOf } from "../registry/refusal.ts";
import type { CountingStore, UsageSubjects } from "../store/store.ts";
import { within } from "../store/within.ts";
import { BlockSightings } from "./block-sightings.ts";
import type { LimiterCount, UsageCall } from "./steps.ts";
import { addUsage, LONG_SPAN, USAGE_STATES } from "./steps.ts";
import type { NoteBlock } from "./usage-counter.ts";
import { UsageCounter, usageTimes } from "./usage-counter.ts";

/** How many limiters of a process are counted separately; the rest are counted together. */
const MOST_LIMITERS = 1_000;

/** The most limiters and rows in one call. */
const TOGETHER = 64;
const ROWS_TOGETHER = 1_024;

/** How many subjects all lists together count at least, within the smallest and largest size of a list. */
const SUBJECTS = 8_192;
const LARGEST_LIST = 512;
const SMALLEST_LIST = 4;

/** The most rows that wait to be sent; beyond that, they are merged. */
const MOST_ROWS = 16_384;

/** After this many microseconds the server may have forgotten the number of a call, so the call is dropped instead of repeated. */
const REPEATED_FOR = 3_000_000_000;

/**
 * After this many microseconds without a call, a process reports that it has counted nothing, to show that it is idle, not
 * silent.
 */
const SIGN_AFTER = 30_000_000;

/** The longest that `close` waits for the store. */
const LONGEST_GOODBYE_MS = 100;

const REFUSED = "HEADGATE_USAGE_REFUSED";

/** A call that has not been answered yet, or never was. */
interface Pending {
  readonly number: number;
  /** When it was first sent, in microseconds. */
  readonly began: number;
  readonly limiters: readonly LimiterCount[];
  readonly blocks: string;
}

/** The counts of this process for one client and prefix, and their sending. */
export class ProcessUsage {
  /** Its name there: 16 characters. */
  readonly #name: string;
  readonly #prefix: string;
  readonly #onRefused: (error: HeadgateError) => void;
  readonly #limiters = new Map<string, UsageCounter>();
  /** For all limiters that are not counted separately. */
  readonly #others = new UsageCounter("", undefined, () => 0);
  readonly #blocks = new BlockSightings();
  /** When the last call began, in microseconds. */
  #called = 0;
  #store: CountingStore | undefined;
  #open = 0;
  #sealed = 0;
  #number = 0;
  /** Microseconds that the server's clock is ahead of this process's. */
  #ahead = 0;
  #pending: Pending | undefined;
  #sending: Promise<void> | undefined;
  readonly #alarm = new Alarm(weakCallback(this, (usage) => usage.wake()));

  /** `onRefused` is called for each call that the store refuses. `name` is the process's name in the directory of the prefix. */
  constructor(
    prefix: string,
    onRefused: (error: HeadgateError) => void,
    name: string = newProcessName(),
  ) {
    this.#prefix = prefix;
    this.#name = name;
    this.#onRefused = onRefused;
  }

  /** The counts of a limiter. */
  add(store: CountingStore, name: string, subjects: UsageSubjects): UsageCounter {
    this.#store = store;
    if (!this.#alarm.isSet) {
      this.#sealed = store.now();
      this.#sleep();
    }
    const known = this.#limiters.get(name);
    if (known === undefined && this.#limiters.size >= MOST_LIMITERS) return this.#others;
    const usage =
      known ?? new UsageCounter(name, subjects, () => this.#capacity(), this.#noteBlock);
    if (known?.isOpen !== true) this.#open += 1;
    usage.isOpen = true;
    this.#limiters.set(name, usage);
    return usage;
  }

  readonly #noteBlock: NoteBlock = (blocked, restMs) => {
    if (this.#store !== undefined) {
      this.#blocks.note(blocked, this.#store.now(), restMs * 1_000);
    }
  };

  /**
   * Records that this process no longer has a limiter of this name. After the last one, the rest is sent, waiting only briefly
   * for the store. Never rejects.
   */
  async remove(name: string): Promise<void> {
    const usage = this.#limiters.get(name);
    if (usage?.isOpen !== true) return;
    usage.isOpen = false;
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#alarm.stop();
    await within(LONGEST_GOODBYE_MS, this.#sendRest(), () => {});
  }

  /** Sends the counts now and periodically. */
  wake(): void {
    void this.send();
    this.#sleep();
  }

  /** Sends everything counted so far, and subjects if they are due. Joins a call in progress. Never rejects. */
  send(): Promise<void> {
    this.#seal();
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** How many subjects a list counts at least, given the number of lists. */
  #capacity(): number {
    const each = Math.floor(SUBJECTS / (2 * this.#limiters.size));
    return Math.min(LARGEST_LIST, Math.max(SMALLEST_LIST, each));
  }

  #sleep(): void {
    this.#alarm.set(spread(usageTimes().every, 0.25));
  }

  async #sendRest(): Promise<void> {
    // The call in progress may lack the last decisions.
    await this.#sending;
    await this.send();
  }

  #all(): UsageCounter[] {
    return [...this.#limiters.values(), this.#others];
  }

  /** Counts since the last time are dated at the middle of that period. */
  #seal(): void {
    const now = this.#store?.now() ?? 0;
    const all = this.#all();
    for (const usage of all) usage.seal((this.#sealed + now) / 2);
    this.#sealed = now;
    for (let span = LONG_SPAN; rowsOf(all) > MOST_ROWS; span *= 6) {
      for (const usage of all) usage.thin(span);
    }
  }

  async #sendAll(): Promise<void> {
    try {
      for (;;) {
        this.#pending = this.#unanswered() ?? this.#next();
        if (this.#pending === undefined) return;
        await this.#ask(this.#pending);
        this.#pending = undefined;
      }
    } catch (error) {
      this.#onRefused(error as HeadgateError);
    }
  }

  /** The call to repeat. */
  #unanswered(): Pending | undefined {
    const now = this.#store?.now() ?? 0;
    const pending = this.#pending;
    return pending !== undefined && now - pending.began < REPEATED_FOR ? pending : undefined;
  }

  /** The next call; undefined if there is nothing left to send. */
  #next(): Pending | undefined {
    const limiters: LimiterCount[] = [];
    const now = this.#store?.now() ?? 0;
    let rows = ROWS_TOGETHER;
    for (const [name, usage] of [...this.#limiters, ["", this.#others] as const]) {
      if (rows === 0 || limiters.length === TOGETHER) break;
      const isDue = usage.isDue(now);
      if (isDue || usage.rows > 0) {
        const count = isDue ? usage.takeAll(rows, now) : usage.takeRows(rows);
        limiters.push(count);
        rows -= count.rows.length;
      }
      if (!usage.isOpen && usage.isEmpty) this.#limiters.delete(name);
    }
    const isSilent = this.#open > 0 && Math.abs(now - this.#called) > SIGN_AFTER;
    if (limiters.length + this.#blocks.size === 0 && !isSilent) return undefined;
    this.#number += 1;
    this.#called = now;
    const blocks = this.#blocks.take(now, this.#ahead);
    return { number: this.#number, began: now, limiters, blocks };
  }

  /** Rejects like the store, and if nothing was stored. */
  async #ask(pending: Pending): Promise<void> {
    let [state, ...each] = await this.#run(pending);
    // Nothing was done, and now the server's clock is known.
    if (state === USAGE_STATES.away) [state, ...each] = await this.#run(pending);
    // The server takes longer to answer than the clocks may differ.
    if (state === USAGE_STATES.away) {
      throw new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store answered too late");
    }
    const refusal = refusalOf(state, REFUSED);
    if (refusal !== undefined) throw refusal;
    // Counts that do not fit a limiter's key are lost.
    for (const one of each) {
      const lost = refusalOf(one, REFUSED);
      if (lost !== undefined) this.#onRefused(lost);
    }
  }

  async #run({ number, limiters, blocks }: Pending): Promise<readonly number[]> {
    const store = this.#store as CountingStore;
    const sent = store.now();
    const call: UsageCall = {
      prefix: this.#prefix,
      process: this.#name,
      number,
      clock: sent + this.#ahead,
      ahead: this.#ahead,
      limiters,
      blocks,
    };
    const [clock = 0, ...states] = await store.run(addUsage, call);
    this.#ahead = clock - (sent + store.now()) / 2;
    return states;
  }
}

function rowsOf(all: readonly UsageCounter[]): number {
  return all.reduce((sum, { rows }) => sum + rows, 0);
}
