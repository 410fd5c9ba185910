import { background } from "../common/background.ts";
import { shareByPrefix } from "../common/client-state.ts";
import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";
import { WeakList } from "../common/weak-list.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { CountingStore } from "../store/store.ts";
import type { ControlReply } from "./operations.ts";
import { controlKey, readControl } from "./operations.ts";
import type { ControlRecord, Invalidation } from "./record.ts";
import { MAX_RECORD_AGE_MICROS, NO_RECORD } from "./record.ts";
import { MAX_RECORD_BYTES, parseRecordAsync, parseVersion } from "./record-text.ts";

/** The record is read again after this many milliseconds, give or take a fifth, so that processes do not read in step. */
const REFRESH_INTERVAL_MS = 1_000;

/** Decisions use no record older than this, unless it cannot be read. */
const STALE_MS = MAX_RECORD_AGE_MICROS / 1_000;

/** After a failed read, the next one waits this many milliseconds. */
const RETRY_MS = 200;

/** The codes of errors that do not go away by waiting. */
const REPORTED_CODES: readonly unknown[] = [
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_HASH_SLOT_UNAVAILABLE",
  "HEADGATE_BAD_REPLY",
];

/** Is called with each control record that is read. */
export interface RecordListener {
  onUpdate(update: ControlUpdate): void;
}

/** A record that was read, and its changes since the last one. */
export interface ControlUpdate {
  readonly record: ControlRecord;
  readonly invalidations: readonly Invalidation[];
  /** Whether older invalidations were dropped from the record to make room, so that all cached state must be dropped. */
  readonly invalidatesAll: boolean;
}

/** The store whose control record is read, and its monitor. */
export interface ControlDeps {
  readonly store: CountingStore;
  readonly monitor: StoreMonitor;
}

/**
 * The latest control record of a client and prefix, shared by all limiters of the process that use them. The age of the record
 * counts from when the read was sent: it may lack changes made after that.
 */
export class ControlCache {
  record: ControlRecord = NO_RECORD;
  /**
   * The time from which on a decision has to call `refresh` first, in milliseconds of `performance.now()`. A field, because
   * every decision reads it.
   */
  refreshDueAt: number = Number.NEGATIVE_INFINITY;
  readonly #key: string;
  readonly #listeners: WeakList<RecordListener>;
  /** The reads in progress, by the monitor of the waiting callers, because each monitor has its own timeout. */
  readonly #inFlight = new Map<StoreMonitor, Promise<void>>();
  /** The version of the latest known record; undefined before the first. */
  #version: number | undefined;
  /** When the last answered read was sent, and when a read last failed, in milliseconds of `performance.now()`. */
  #readSentAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** The server's clock at that time, in microseconds. */
  #serverClock = 0;
  #isDamageLogged = false;

  constructor(key: string, onUnused: () => void) {
    this.#key = key;
    this.#listeners = new WeakList(onUnused);
  }

  /** The server's clock in microseconds, extrapolated from the last read with this process's monotonic clock. */
  now(): number {
    return this.#serverClock + Math.floor((performance.now() - this.#readSentAt) * 1_000);
  }

  /**
   * Reads the record again in the background when it is due, about every second. A decision made when it is due calls this
   * first and waits for the promise, if there is one, so that its record is at most about two seconds old. Waits at most
   * `storeTimeout`; if the record cannot be read, the latest known one stays in force. The promise never rejects.
   */
  refresh(deps: ControlDeps): Promise<void> | undefined {
    const now = performance.now();
    if (now < this.refreshDueAt) return undefined;
    const isStale = now - this.#readSentAt >= STALE_MS;
    const { monitor } = deps;
    const inFlight = this.#inFlight.get(monitor);
    if (inFlight !== undefined) return isStale ? inFlight : undefined;
    if (now - this.#failedAt < RETRY_MS && now >= this.#failedAt) return undefined;
    // No decision waits for a server that is known to be down.
    if (monitor.downReason(this.#key) !== undefined) return undefined;
    const read = this.#startRead(deps, now);
    return isStale ? read : undefined;
  }

  /** Calls a listener with each record that is read, until the returned function is called or the listener is collected. */
  follow(listener: RecordListener): () => void {
    return this.#listeners.add(listener);
  }

  #startRead({ store, monitor }: ControlDeps, sentAt: number): Promise<void> {
    const read = (): Promise<void> => this.#read(store, monitor, sentAt);
    const inFlight = background.runInAsyncScope(read).finally(() => this.#inFlight.delete(monitor));
    this.#inFlight.set(monitor, inFlight);
    return inFlight;
  }

  /** Never rejects. */
  async #read(store: CountingStore, monitor: StoreMonitor, sentAt: number): Promise<void> {
    const knownVersion = this.#version;
    try {
      const reply = await monitor.run(
        store,
        readControl,
        { key: this.#key, knownVersion },
        this.#key,
      );
      await this.#applyReply(reply, knownVersion, sentAt, monitor.log);
    } catch (error) {
      this.#reportFailure(error, monitor.log);
    }
  }

  /** Ignores an answer that arrives, or is parsed, after a later one. */
  async #applyReply(
    { now, state, text }: ControlReply,
    requestedVersion: number | undefined,
    sentAt: number,
    notices: OperatorLog,
  ): Promise<void> {
    const isLate = (): boolean => sentAt < this.#readSentAt || requestedVersion !== this.#version;
    if (isLate()) return;
    const record = state === "changed" ? await parseRecordAsync(text) : undefined;
    if (isLate()) return;
    this.#readSentAt = sentAt;
    this.#serverClock = now;
    this.refreshDueAt = sentAt + REFRESH_INTERVAL_MS * (0.8 + 0.4 * Math.random());
    if (record !== undefined) this.#applyRecord(record);
    else if (state === "too-long") {
      this.#reportUnreadable(notices, `has more than ${MAX_RECORD_BYTES} bytes`);
    } else if (state !== "unchanged") {
      this.#reportUnreadable(notices, "cannot be read", parseVersion(text));
    }
  }

  #applyRecord(record: ControlRecord): void {
    const before = new Set(this.record.invalidations.map(formatInvalidation));
    const invalidations = record.invalidations.filter(
      (invalidation) => !before.has(formatInvalidation(invalidation)),
    );
    const invalidatesAll =
      record.invalidateAllBefore !== undefined &&
      record.invalidateAllBefore !== this.record.invalidateAllBefore;
    for (const listener of this.#listeners)
      listener.onUpdate({ record, invalidations, invalidatesAll });
    this.record = record;
    this.#version = record.version;
    this.#isDamageLogged = false;
  }

  /** Reports only repeated failures: decisions report an error that fails them too, with the same message. */
  #reportFailure(error: unknown, notices: OperatorLog): void {
    const isRepeated = this.#failedAt > this.#readSentAt;
    this.#failedAt = performance.now();
    if (isRepeated && REPORTED_CODES.includes(codeOf(error))) {
      notices.logThrottled(
        error as HeadgateError,
        "the control record cannot be read, so this process does not follow operators' actions",
      );
    }
  }

  /** The latest valid record stays in force. The store does not send a record of this version again. */
  #reportUnreadable({ log }: OperatorLog, problem: string, version = this.#version): void {
    this.#version = version;
    if (this.#isDamageLogged) return;
    this.#isDamageLogged = true;
    log(
      "HEADGATE_CONTROL_CORRUPT",
      `the control record ${this.#key} ${problem} and is ignored; the last valid record stays in force`,
    );
  }
}

function formatInvalidation({ limiter, subject, kind, from }: Invalidation): string {
  return JSON.stringify([limiter, subject, kind, from]);
}

/** The known control record of a store's prefix, shared by all users of its client. */
export const controlCacheOf: (store: CountingStore) => ControlCache = shareByPrefix(
  "control",
  ({ prefix }, drop) => new ControlCache(controlKey(prefix), drop),
);
