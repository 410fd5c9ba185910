import { background } from "../common/background.ts";
import { shareByPrefix } from "../common/client-state.ts";
import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";
import { WeakList } from "../common/weak-list.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import { denyCacheOf } from "../pipeline/deny-cache.ts";
import { endAllLeases, endLeases } from "../pipeline/lease-holders.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { countersOfLimiter } from "../policy/counters.ts";
import type { CountingStore } from "../store/store.ts";
import type { ControlDeps, Follower, LimiterControl, SharedControl } from "./control.ts";
import { controlKey, READ_STATES, readControl, replyText } from "./operations.ts";
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

/** The age of the record counts from when the read was sent: it may lack changes made after that. */
class ControlCache implements SharedControl {
  record: ControlRecord = NO_RECORD;
  refreshDueAt: number = Number.NEGATIVE_INFINITY;
  readonly #key: string;
  readonly #followers: WeakList<Follower>;
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
    this.#followers = new WeakList(onUnused);
  }

  now(): number {
    return this.#serverClock + Math.floor((performance.now() - this.#readSentAt) * 1_000);
  }

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

  follow(follower: Follower): () => void {
    return this.#followers.add(follower);
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
    reply: readonly number[],
    requestedVersion: number | undefined,
    sentAt: number,
    notices: OperatorLog,
  ): Promise<void> {
    const isLate = (): boolean => sentAt < this.#readSentAt || requestedVersion !== this.#version;
    if (isLate()) return;
    const [clock = 0, state] = reply;
    const text = state === READ_STATES.changed ? replyText(reply) : undefined;
    const record = text === undefined ? undefined : await parseRecordAsync(text);
    if (isLate()) return;
    this.#readSentAt = sentAt;
    this.#serverClock = clock;
    this.refreshDueAt = sentAt + REFRESH_INTERVAL_MS * (0.8 + 0.4 * Math.random());
    if (record !== undefined) this.#applyRecord(record);
    else if (text !== undefined)
      this.#reportUnreadable(notices, "cannot be read", parseVersion(text));
    else if (state === READ_STATES.tooLong) {
      this.#reportUnreadable(notices, `has more than ${MAX_RECORD_BYTES} bytes`);
    } else if (state !== READ_STATES.unchanged) {
      this.#reportUnreadable(notices, "cannot be read");
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
    for (const follower of this.#followers)
      follower.onUpdate({ record, invalidations, invalidatesAll });
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
const controlCacheOf: (store: CountingStore) => SharedControl = shareByPrefix(
  "control",
  ({ prefix }, drop) => new ControlCache(controlKey(prefix), drop),
);

/**
 * Follows the control record for a limiter. Drops all cached state that an invalidation affects, so that the next decision goes to
 * the store: denials are forgotten, and leases are returned. `perCallPolicies` returns the policies that calls have passed.
 * Undefined if the store has no control record.
 */
export function followControl(
  ownPolicy: CompiledPolicy,
  monitor: StoreMonitor | undefined,
  perCallPolicies: () => Iterable<CompiledPolicy>,
): LimiterControl | undefined {
  const { store } = ownPolicy;
  if (monitor === undefined || store.transport?.followsControl !== true) return undefined;
  const { owner } = store;
  const deps = { store, monitor };
  const control = controlCacheOf(store);
  const denials = denyCacheOf(owner);
  let invalidationCallback = (_?: string): void => {};
  let recordCallback = (_: ControlRecord): void => {};

  function applyInvalidation({ limiter, subject }: Invalidation): void {
    const counters = [ownPolicy, ...perCallPolicies()].flatMap((policy) =>
      countersOfLimiter(policy, limiter, subject),
    );
    if (counters.length === 0) return;
    denials.invalidate(counters, store.now());
    endLeases(owner, counters);
    for (const { key } of counters) invalidationCallback(key);
  }

  // The cache does not keep the follower alive, so that a limiter that is dropped without `close` can be collected.
  const follower: LimiterControl & Follower = {
    cache: control,
    refresh: () => control.refresh(deps),
    onRecord(callback) {
      recordCallback = callback;
    },
    onInvalidation(callback) {
      invalidationCallback = callback;
    },
    onUpdate({ record, invalidations, invalidatesAll }) {
      recordCallback(record);
      invalidations.forEach(applyInvalidation);
      if (!invalidatesAll) return;
      denials.invalidateAll(store.now());
      endAllLeases(owner);
      invalidationCallback();
    },
    stop: () => unfollow(),
  };
  const unfollow = control.follow(follower);
  return follower;
}
