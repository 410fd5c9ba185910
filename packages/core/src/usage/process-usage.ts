import { addJitter, BackgroundTimer, weakCallback } from "../common/background.ts";
import { shareByPrefix } from "../common/client-state.ts";
import { HeadgateError } from "../common/errors.ts";
import { createProcessName, processNameOf } from "../registry/process-registry.ts";
import { logFirstRefusal, refusalOf } from "../registry/refusal.ts";
import type { CountingStore, UsageSubjects } from "../store/store.ts";
import { withTimeout } from "../store/with-timeout.ts";
import { BlockSightings } from "./block-sightings.ts";
import { TEN_MINUTES_MICROS } from "./layout.ts";
import type { BlockEntry, LimiterCounts, UsageCall } from "./operations.ts";
import { addUsage, USAGE_STATES } from "./operations.ts";
import type { OnBlock } from "./usage-counter.ts";
import { UsageCounter, usageIntervals } from "./usage-counter.ts";

/** How many limiters a process counts separately; it counts the others together. */
const MAX_LIMITERS = 1_000;

/** The most limiters and rows in one call. */
const LIMITERS_PER_CALL = 64;
const ROWS_PER_CALL = 1_024;

/** How many subjects all lists together count at least, within the smallest and largest size of a list. */
const TOTAL_SUBJECTS = 8_192;
const MAX_LIST_SIZE = 512;
const MIN_LIST_SIZE = 4;

/** The most rows that wait to be sent; beyond that, they are merged. */
const MAX_ROWS = 16_384;

/** After this many microseconds the server may have forgotten the number of a call, so the call is dropped instead of repeated. */
const RETRY_FOR_MICROS = 3_000_000_000;

/**
 * After this many microseconds without a call, a process reports that it has counted nothing, to show that it is idle, not
 * silent.
 */
const HEARTBEAT_AFTER_MICROS = 30_000_000;

/** The longest that `close` waits for the store. */
const MAX_CLOSE_WAIT_MS = 100;

const REFUSED = "HEADGATE_USAGE_REFUSED";

/** The counts of a limiter, until its name is removed; undefined if its store keeps no usage. */
export function startUsage(store: CountingStore, name: string): UsageCounter | undefined {
  return store.usage && usageOf(store).add(store, name, store.usage);
}

/** Stops counting for a limiter that this process no longer has. Waits only briefly for the store, and never rejects. */
export async function stopUsage(store: CountingStore, name: string): Promise<void> {
  if (store.usage !== undefined) await usageOf(store).remove(name);
}

/** The counts of this process for the client and prefix of a store. */
export const usageOf: (store: CountingStore) => ProcessUsage = shareByPrefix("usage", (store) => {
  const onRefused = logFirstRefusal(
    REFUSED,
    (why) =>
      `this process cannot add its counts to the usage that operators' tools read: ${why}; limits are decided as usual, and the write is tried again every five seconds`,
  );
  return new ProcessUsage(store.prefix, onRefused, processNameOf(store).name);
});

/** A call that has not been answered yet, or never was. */
interface UnansweredCall {
  readonly number: number;
  /** When it was first sent, in microseconds. */
  readonly firstSentAt: number;
  readonly limiters: readonly LimiterCounts[];
  readonly blocks: readonly BlockEntry[];
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
  #lastCallAt = 0;
  #store: CountingStore | undefined;
  #openLimiters = 0;
  #sealedAt = 0;
  #callNumber = 0;
  /** Microseconds that the server's clock is ahead of this process's. */
  #clockOffset = 0;
  #pending: UnansweredCall | undefined;
  #sending: Promise<void> | undefined;
  readonly #alarm = new BackgroundTimer(weakCallback(this, (usage) => usage.sendPeriodically()));

  /** `onRefused` is called for each call that the store refuses. `name` is the process's name in the registry of the prefix. */
  constructor(
    prefix: string,
    onRefused: (error: HeadgateError) => void,
    name: string = createProcessName(),
  ) {
    this.#prefix = prefix;
    this.#name = name;
    this.#onRefused = onRefused;
  }

  /** The counts of a limiter. */
  add(store: CountingStore, name: string, subjects: UsageSubjects): UsageCounter {
    this.#store = store;
    if (!this.#alarm.isSet) {
      this.#sealedAt = store.now();
      this.#scheduleSend();
    }
    const known = this.#limiters.get(name);
    if (known === undefined && this.#limiters.size >= MAX_LIMITERS) return this.#others;
    const usage =
      known ?? new UsageCounter(name, subjects, () => this.#capacity(), this.#recordBlock);
    if (known?.isOpen !== true) this.#openLimiters += 1;
    usage.isOpen = true;
    this.#limiters.set(name, usage);
    return usage;
  }

  readonly #recordBlock: OnBlock = (blocked, restMs) => {
    if (this.#store !== undefined) {
      this.#blocks.record(blocked, this.#store.now(), restMs * 1_000);
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
    this.#openLimiters -= 1;
    if (this.#openLimiters > 0) return;
    this.#alarm.stop();
    await withTimeout(MAX_CLOSE_WAIT_MS, this.#sendRemaining(), () => {});
  }

  /** Sends the counts now and periodically. */
  sendPeriodically(): void {
    void this.send();
    this.#scheduleSend();
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
    const each = Math.floor(TOTAL_SUBJECTS / (2 * this.#limiters.size));
    return Math.min(MAX_LIST_SIZE, Math.max(MIN_LIST_SIZE, each));
  }

  #scheduleSend(): void {
    this.#alarm.set(addJitter(usageIntervals().everyMs, 0.25));
  }

  async #sendRemaining(): Promise<void> {
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
    for (const usage of all) usage.closeRow((this.#sealedAt + now) / 2);
    this.#sealedAt = now;
    for (let span = TEN_MINUTES_MICROS; countRows(all) > MAX_ROWS; span *= 6) {
      for (const usage of all) usage.mergeRows(span);
    }
  }

  async #sendAll(): Promise<void> {
    try {
      for (;;) {
        this.#pending = this.#unansweredCall() ?? this.#nextCall();
        if (this.#pending === undefined) return;
        await this.#sendCall(this.#pending);
        this.#pending = undefined;
      }
    } catch (error) {
      this.#onRefused(error as HeadgateError);
    }
  }

  /** The call to repeat. */
  #unansweredCall(): UnansweredCall | undefined {
    const now = this.#store?.now() ?? 0;
    const pending = this.#pending;
    return pending !== undefined && now - pending.firstSentAt < RETRY_FOR_MICROS
      ? pending
      : undefined;
  }

  /** The next call; undefined if there is nothing left to send. */
  #nextCall(): UnansweredCall | undefined {
    const limiters: LimiterCounts[] = [];
    const now = this.#store?.now() ?? 0;
    let rows = ROWS_PER_CALL;
    for (const [name, usage] of [...this.#limiters, ["", this.#others] as const]) {
      if (rows === 0 || limiters.length === LIMITERS_PER_CALL) break;
      const isDue = usage.isDue(now);
      if (isDue || usage.rowCount > 0) {
        const count = isDue ? usage.takeAll(rows, now) : usage.takeRows(rows);
        limiters.push(count);
        rows -= count.rows.length;
      }
      if (!usage.isOpen && usage.isEmpty) this.#limiters.delete(name);
    }
    const needsHeartbeat =
      this.#openLimiters > 0 && Math.abs(now - this.#lastCallAt) > HEARTBEAT_AFTER_MICROS;
    if (limiters.length + this.#blocks.size === 0 && !needsHeartbeat) return undefined;
    this.#callNumber += 1;
    this.#lastCallAt = now;
    const blocks = this.#blocks.takeBatch(now, this.#clockOffset);
    return { number: this.#callNumber, firstSentAt: now, limiters, blocks };
  }

  /** Rejects like the store, and if nothing was stored. */
  async #sendCall(pending: UnansweredCall): Promise<void> {
    let [state, ...each] = await this.#run(pending);
    // Nothing was done, and now the server's clock is known.
    if (state === USAGE_STATES.clockSkew) [state, ...each] = await this.#run(pending);
    // The server takes longer to answer than the clocks may differ.
    if (state === USAGE_STATES.clockSkew) {
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

  async #run({ number, limiters, blocks }: UnansweredCall): Promise<readonly number[]> {
    const store = this.#store as CountingStore;
    const sentAt = store.now();
    const call: UsageCall = {
      prefix: this.#prefix,
      process: this.#name,
      number,
      clock: sentAt + this.#clockOffset,
      clockOffset: this.#clockOffset,
      limiters,
      blocks,
    };
    const [clock = 0, ...states] = await store.run(addUsage, call);
    this.#clockOffset = clock - (sentAt + store.now()) / 2;
    return states;
  }
}

function countRows(all: readonly UsageCounter[]): number {
  return all.reduce((sum, { rowCount }) => sum + rowCount, 0);
}
