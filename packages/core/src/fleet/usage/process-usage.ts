import { Alarm, spread, weakly } from "../../base/background.ts";
import type { HeadgateError } from "../../base/errors.ts";
import type { CountingStore, UsageSubjects } from "../../store/store.ts";
import { within } from "../../store/within.ts";
import { newProcessName } from "../directory/process-name.ts";
import { requireKept, tooLate } from "./kept-state.ts";
import type { NoteBlock } from "./limiter-usage.ts";
import { LimiterUsage, usageTimes } from "./limiter-usage.ts";
import { SeenBlocks } from "./seen-blocks.ts";
import type { LimiterCount, UsageCall } from "./steps.ts";
import { addUsage, LONG_SPAN, USAGE_STATES } from "./steps.ts";

/** So many limiters of a process are counted each by itself; the others together. */
const MOST_LIMITERS = 1_000;

/** So many limiters and rows go in one call at most. */
const TOGETHER = 64;
const ROWS_TOGETHER = 1_024;

/** So many subjects are counted at least in all lists together, as far as a list is not larger or smaller than these. */
const SUBJECTS = 8_192;
const LARGEST_LIST = 512;
const SMALLEST_LIST = 4;

/** So many rows wait to be sent at most; then they are added up. */
const MOST_ROWS = 16_384;

/** After so many microseconds the server may have forgotten the number of a call: it is not repeated any more, and lost. */
const REPEATED_FOR = 3_000_000_000;

/** After so many microseconds without a call a process says that it has counted nothing, so that its silence has a meaning. */
const SIGN_AFTER = 30_000_000;

/** `close` waits for the store no longer. */
const LONGEST_GOODBYE_MS = 100;

/** A call whose answer did not come, or has not come yet. */
interface Pending {
  readonly number: number;
  /** When it was sent first, in microseconds. */
  readonly began: number;
  readonly limiters: readonly LimiterCount[];
  readonly blocks: string;
}

/** What this process counts for one client and prefix, and sends. */
export class ProcessUsage {
  /** Its name there: 16 characters. */
  readonly #name: string;
  readonly #prefix: string;
  readonly #onRefused: (error: HeadgateError) => void;
  readonly #limiters = new Map<string, LimiterUsage>();
  /** Of all those that are more. */
  readonly #others = new LimiterUsage("", undefined, () => 0);
  readonly #blocks = new SeenBlocks();
  /** When the last call began, in microseconds. */
  #called = 0;
  #store: CountingStore | undefined;
  #open = 0;
  #sealed = 0;
  #number = 0;
  /** Microseconds by which the server's clock is ahead of this process's. */
  #ahead = 0;
  #pending: Pending | undefined;
  #sending: Promise<void> | undefined;
  readonly #alarm = new Alarm(weakly(this, (usage) => usage.wake()));

  /** `onRefused` is called for each call that the store refuses. `name` is that of the process in the directory of the prefix. */
  constructor(
    prefix: string,
    onRefused: (error: HeadgateError) => void,
    name: string = newProcessName(),
  ) {
    this.#prefix = prefix;
    this.#name = name;
    this.#onRefused = onRefused;
  }

  /** What a limiter counts in. */
  add(store: CountingStore, name: string, subjects: UsageSubjects): LimiterUsage {
    this.#store = store;
    if (!this.#alarm.isSet) {
      this.#sealed = store.now();
      this.#sleep();
    }
    const known = this.#limiters.get(name);
    if (known === undefined && this.#limiters.size >= MOST_LIMITERS) return this.#others;
    const usage =
      known ?? new LimiterUsage(name, subjects, () => this.#capacity(), this.#noteBlock);
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

  /** Notes that nobody in this process has a limiter any more. With the last one the rest is sent, for which the store is given a moment. Never rejects. */
  async remove(name: string): Promise<void> {
    const usage = this.#limiters.get(name);
    if (usage?.isOpen !== true) return;
    usage.isOpen = false;
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#alarm.stop();
    await within(LONGEST_GOODBYE_MS, this.#sendRest(), () => {});
  }

  /** Sends what was counted, and again later. */
  wake(): void {
    void this.send();
    this.#sleep();
  }

  /** Sends what was counted until now, but subjects when it is their time. What is under way is waited for, and not begun again. Never rejects. */
  send(): Promise<void> {
    this.#seal();
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** How many subjects a list counts at least, with as many lists as there are. */
  #capacity(): number {
    const each = Math.floor(SUBJECTS / (2 * this.#limiters.size));
    return Math.min(LARGEST_LIST, Math.max(SMALLEST_LIST, each));
  }

  #sleep(): void {
    this.#alarm.set(spread(usageTimes().every, 0.25));
  }

  async #sendRest(): Promise<void> {
    // What is under way may have been taken before the last decisions.
    await this.#sending;
    await this.send();
  }

  #all(): LimiterUsage[] {
    return [...this.#limiters.values(), this.#others];
  }

  /** What was counted since the last time was counted in the middle of it. */
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

  /** The call that is to be repeated. */
  #unanswered(): Pending | undefined {
    const now = this.#store?.now() ?? 0;
    const pending = this.#pending;
    return pending !== undefined && now - pending.began < REPEATED_FOR ? pending : undefined;
  }

  /** The next call; undefined where nothing is left to be sent. */
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

  /** Rejects as the store does, and where nothing is kept. */
  async #ask(pending: Pending): Promise<void> {
    let [state, ...each] = await this.#run(pending);
    // Nothing was done, and the server's clock is known now.
    if (state === USAGE_STATES.away) [state, ...each] = await this.#run(pending);
    if (state === USAGE_STATES.away) throw tooLate();
    requireKept(state);
    for (const one of each) this.#noteRefused(one);
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

  /** What a limiter's key does not take is lost. */
  #noteRefused(state: number): void {
    try {
      requireKept(state);
    } catch (error) {
      this.#onRefused(error as HeadgateError);
    }
  }
}

function rowsOf(all: readonly LimiterUsage[]): number {
  return all.reduce((sum, { rows }) => sum + rows, 0);
}
