import { background } from "../common/background.ts";
import { prefixPart } from "../common/client-state.ts";
import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";
import { WeakList } from "../common/weak-list.ts";
import type { StoreMonitor } from "../health/outage.ts";
import type { CountingStore } from "../store/store.ts";
import type { Control, ControlDeps, Follower } from "./control.ts";
import type { ControlRecord, Order } from "./record.ts";
import { LONGEST_BELIEVED, NO_RECORD } from "./record.ts";
import { MAX_RECORD_BYTES, readRecordInTurns, versionOf } from "./record-text.ts";
import { READ_STATES, read, recordKeyOf, textOf } from "./steps.ts";

/** The record is read again after this many milliseconds, give or take a fifth, so that processes do not read in step. */
const READ_AGAIN_MS = 1_000;

/** Decisions use no record older than this, unless it cannot be read. */
const STALE_MS = LONGEST_BELIEVED / 1_000;

/** After a failed read, the next one waits this many milliseconds. */
const RETRY_MS = 200;

/** Errors that waiting will not fix. */
const REPORTED: readonly unknown[] = [
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_SLOT_UNAVAILABLE",
  "HEADGATE_BAD_REPLY",
];

/** The age of the record counts from when the read was sent: it may lack changes made after that. */
class ControlCache implements Control {
  record: ControlRecord = NO_RECORD;
  due: number = Number.NEGATIVE_INFINITY;
  readonly #key: string;
  readonly #followers: WeakList<Follower>;
  /** The reads in progress, by the watch of the callers that wait: each watch has its own timeout. */
  readonly #underWay = new Map<StoreMonitor, Promise<void>>();
  /** The version of the latest known record; undefined before the first. */
  #version: number | undefined;
  /** When the last answered read was sent, and when a read last failed, in milliseconds of `performance.now()`. */
  #read = Number.NEGATIVE_INFINITY;
  #failed = Number.NEGATIVE_INFINITY;
  /** The server's clock at that time, in microseconds. */
  #clock = 0;
  #isDamageLogged = false;

  constructor(key: string, onUnused: () => void) {
    this.#key = key;
    this.#followers = new WeakList(onUnused);
  }

  now(): number {
    return this.#clock + Math.floor((performance.now() - this.#read) * 1_000);
  }

  refresh(place: ControlDeps): Promise<void> | undefined {
    const now = performance.now();
    if (now < this.due) return undefined;
    const isStale = now - this.#read >= STALE_MS;
    const { watch } = place;
    const reading = this.#underWay.get(watch);
    if (reading !== undefined) return isStale ? reading : undefined;
    if (now - this.#failed < RETRY_MS && now >= this.#failed) return undefined;
    // No decision waits for a server that is known to be down.
    if (watch.downReason(this.#key) !== undefined) return undefined;
    const started = this.#start(place, now);
    return isStale ? started : undefined;
  }

  follow(follower: Follower): () => void {
    return this.#followers.add(follower);
  }

  #start({ store, watch }: ControlDeps, sent: number): Promise<void> {
    const ask = (): Promise<void> => this.#ask(store, watch, sent);
    const reading = background.runInAsyncScope(ask).finally(() => this.#underWay.delete(watch));
    this.#underWay.set(watch, reading);
    return reading;
  }

  /** Never rejects. */
  async #ask(store: CountingStore, watch: StoreMonitor, sent: number): Promise<void> {
    const known = this.#version;
    try {
      const reply = await watch.run(store, read, { key: this.#key, known }, this.#key);
      await this.#take(reply, known, sent, watch.notices);
    } catch (error) {
      this.#fail(error, watch.notices);
    }
  }

  /** Ignores an answer that arrives, or is parsed, after a later one. */
  async #take(
    reply: readonly number[],
    asked: number | undefined,
    sent: number,
    notices: OperatorLog,
  ): Promise<void> {
    const isLate = (): boolean => sent < this.#read || asked !== this.#version;
    if (isLate()) return;
    const [clock = 0, state] = reply;
    const text = state === READ_STATES.other ? textOf(reply) : undefined;
    const record = text === undefined ? undefined : await readRecordInTurns(text);
    if (isLate()) return;
    this.#read = sent;
    this.#clock = clock;
    this.due = sent + READ_AGAIN_MS * (0.8 + 0.4 * Math.random());
    if (record !== undefined) this.#learn(record);
    else if (text !== undefined) this.#ignore(notices, "cannot be read", versionOf(text));
    else if (state === READ_STATES.tooLong) {
      this.#ignore(notices, `has more than ${MAX_RECORD_BYTES} bytes`);
    } else if (state !== READ_STATES.known) {
      this.#ignore(notices, "cannot be read");
    }
  }

  #learn(record: ControlRecord): void {
    const before = new Set(this.record.orders.map(formatOrder));
    const orders = record.orders.filter((order) => !before.has(formatOrder(order)));
    const isAll = record.droppedTo !== undefined && record.droppedTo !== this.record.droppedTo;
    for (const follower of this.#followers) follower.onNews({ record, orders, isAll });
    this.record = record;
    this.#version = record.version;
    this.#isDamageLogged = false;
  }

  /** Reported only if it fails repeatedly: an error that also fails decisions is reported by them, in the same words. */
  #fail(error: unknown, notices: OperatorLog): void {
    const isRepeated = this.#failed > this.#read;
    this.#failed = performance.now();
    if (isRepeated && REPORTED.includes(codeOf(error))) {
      notices.logOnce(
        error as HeadgateError,
        "the control record cannot be read, so this process does not learn what operators do",
      );
    }
  }

  /** The latest known record stays in force. The store does not send a record of this version again. */
  #ignore({ log }: OperatorLog, why: string, version = this.#version): void {
    this.#version = version;
    if (this.#isDamageLogged) return;
    this.#isDamageLogged = true;
    log(
      "HEADGATE_CONTROL_DAMAGED",
      `the control record ${this.#key} ${why} and is ignored; what was known before stays in force`,
    );
  }
}

function formatOrder({ limiter, subject, kind, from }: Order): string {
  return JSON.stringify([limiter, subject, kind, from]);
}

/** The known control record of a store's prefix, shared by all users of its client. */
export const controlOf: (store: CountingStore) => Control = prefixPart(
  "control",
  ({ prefix }, drop) => new ControlCache(recordKeyOf(prefix), drop),
);
