import { HeadgateError, memoryStore } from "@headgate/core";
import type { BreakerRecord, CountingStore } from "@headgate/core/internal";
import {
  addToRegistry,
  claimName,
  escapePart,
  escapeSubject,
  fingerprint,
  formatKind,
  formatReceived,
  rejectCloseOptions,
  rejectExtraArgument,
  removeFromRegistry,
  requireName,
  requireStore,
  shareByClient,
  VERSION,
} from "@headgate/core/internal";
import type { Breaker } from "./breaker.ts";
import type { BreakerOptions, CheckedDurations, Settings } from "./breaker-options.ts";
import { createTarget } from "./call/create-target.ts";
import type { TargetKeys } from "./machine/target.ts";
import { readBreakerOptions } from "./read-options.ts";
import { createStoreAccess } from "./tracker/store-access.ts";
import { TargetTracker } from "./tracker/target-tracker.ts";
import { TrackerRegistry } from "./tracker/tracker-registry.ts";

/** The trackers of a name on a store. Breakers that share them have the same views, and report together. */
interface Trackers {
  readonly registry: TrackerRegistry;
  /** Sends the collected outcomes. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Creates a circuit breaker. The same name on the same store, with the same options, is the same breaker, in all processes.
 * Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createBreaker<Result = unknown, const Text extends string = string>(
  options: BreakerOptions<Result> & CheckedDurations<Text> = {},
): Breaker<Result> {
  const settings = readBreakerOptions(options);
  const { name, store } = readNameAndStore(options, settings.maxTargets);
  const claim = claimName(store, name, settings, "breaker");
  const { registry, ...trackers } = trackersOf(claim.identity, name, store, settings);
  addToRegistry(store, createBreakerRecord(name, settings), () => registry.calledTargets());
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    const isLast = claim.release();
    await trackers.flush();
    if (isLast) await Promise.all([trackers.close(), removeFromRegistry(store, "breaker", name)]);
  }

  const guard = {
    breaker: name,
    settings,
    now: store.now,
    throwIfClosed() {
      if (closing !== undefined) throw closedError(name);
    },
  };

  return {
    name,
    ...createTarget(registry.get("default"), guard),

    for(target, more?: unknown) {
      guard.throwIfClosed();
      rejectExtraArgument("for(target)", more);
      return createTarget(registry.get(checkTarget(target)), guard);
    },

    async close(...given: unknown[]) {
      rejectCloseOptions(given);
      closing ??= close();
      await closing;
    },
  };
}

const trackersOf = shareByClient(
  "breakerTrackers/1",
  (_: object, name: string, store: CountingStore, settings: Settings<never>): Trackers =>
    createTrackers(name, store, settings),
);

function createTrackers(name: string, store: CountingStore, settings: Settings<never>): Trackers {
  const { policy, storeTimes, flushIntervalMicros } = settings;
  const access = createStoreAccess(store, storeTimes);
  const unsent = new Set<TargetTracker>();
  const context = {
    breaker: name,
    access,
    local: access.isShared ? createLocalMemory(store, settings.maxTargets) : undefined,
    flushIntervalMicros,
    maxViewAgeMicros: maxViewAgeOf(access.isShared, settings),
    unsent,
  };
  const suffix = `:breaker/${escapePart(name)}`;
  const windowId = windowFingerprint(settings);

  function keysOf(target: string): TargetKeys {
    const periodKey = `${store.prefix}:{${escapeSubject(target)}}${suffix}`;
    return { periodKey, windowKey: `${periodKey}:${windowId}`, policy };
  }

  const registry = new TrackerRegistry(
    settings.maxTargets,
    (targetName, target) => new TargetTracker(targetName, keysOf(target), context),
  );
  return {
    registry,
    async flush() {
      await Promise.all([...unsent].map((tracker) => tracker.drain()));
    },
    close: access.close,
  };
}

/** The part of the policy that is in the keys of windows. */
function windowFingerprint({ policy: { window, windowSize } }: Settings<never>): string {
  return fingerprint(`${window.kind} ${windowSize}`);
}

/** A breaker's record in the registry. */
function createBreakerRecord(name: string, settings: Settings<never>): BreakerRecord {
  return {
    kind: "breaker",
    name,
    policy: fingerprint(settings.canonical),
    options: settings.policyOptions,
    fingerprint: windowFingerprint(settings),
    version: VERSION,
  };
}

/** A target has a state and a window. */
const KEYS_PER_TARGET = 2;

/** Memory of this process on a store's clock. */
function createLocalMemory(store: CountingStore, targets: number): CountingStore {
  return requireStore(
    memoryStore({ maxKeys: KEYS_PER_TARGET * targets, clock: () => store.now() / 1_000 }),
  );
}

/** Views of memory never grow stale; without a flush interval, each call reads the store. */
function maxViewAgeOf(
  isShared: boolean,
  { flushIntervalMicros, storeTimes }: Settings<never>,
): number {
  if (!isShared) return Number.POSITIVE_INFINITY;
  return flushIntervalMicros === 0 ? 0 : flushIntervalMicros + storeTimes.timeoutMs * 1_000;
}

/** The name and the store of a breaker's counts. */
function readNameAndStore(
  { name, store }: BreakerOptions<never>,
  maxTargets: number,
): { name: string; store: CountingStore } {
  const given =
    store === undefined ? memoryStore({ maxKeys: KEYS_PER_TARGET * maxTargets }) : store;
  const countingStore = requireStore(given);
  // Counts in the breaker's own memory need no name.
  const nameOrDefault = name === undefined && store === undefined ? "breaker" : name;
  requireName(nameOrDefault);
  return { name: nameOrDefault, store: countingStore };
}

function checkTarget(target: unknown): string {
  if (target === undefined || target === "") {
    throw new HeadgateError(
      "HEADGATE_EMPTY_KEY",
      `a target must not be empty, got ${formatReceived(target)}`,
    );
  }
  if (typeof target === "string") return target;
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `a target must be a string, got ${formatKind(target)}`,
  );
}

function closedError(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the breaker ${formatReceived(name)} has been closed`,
  );
}
