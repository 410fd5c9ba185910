import { HeadgateError, memoryStore } from "@headgate/core";
import type { BreakerRecord, CountingStore } from "@headgate/core/internal";
import {
  claimName,
  clientPart,
  escapePart,
  escapeSubject,
  fingerprint,
  formatKind,
  formatReceived,
  listInDirectory,
  rejectCloseOptions,
  rejectMore,
  requireName,
  requireStore,
  unlistInDirectory,
  VERSION,
} from "@headgate/core/internal";
import type { Breaker } from "./breaker.ts";
import type { BreakerOptions, CheckedTimes, Settings } from "./breaker-options.ts";
import { guardTarget } from "./call/guarded-target.ts";
import { LinkRegistry } from "./link/link-registry.ts";
import { accessStore } from "./link/store-access.ts";
import { TargetLink } from "./link/target-link.ts";
import type { TargetKeys } from "./machine/target.ts";
import { readBreakerOptions } from "./read-options.ts";

/** The links of a name on a store: breakers that share them know and report the same. */
interface Links {
  of(target: string): TargetLink;
  /** Sends the collected outcomes. */
  flush(): Promise<void>;
  close(): Promise<void>;
  /** The names of the targets that were called. */
  targets(): Iterable<string>;
}

/**
 * Creates a circuit breaker. The same name on the same store, with the same options, is the same breaker, in all processes.
 * Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createBreaker<Result = unknown, const Text extends string = string>(
  options: BreakerOptions<Result> & CheckedTimes<Text> = {},
): Breaker<Result> {
  const settings = readBreakerOptions(options);
  const { name, store } = placeOf(options, settings.maxTargets);
  const claim = claimName(store, name, settings, "breaker");
  const links = linksOf(claim.identity, name, store, settings);
  listInDirectory(store, breakerRecord(name, settings), () => links.targets());
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    const isLast = claim.release();
    await links.flush();
    if (isLast) await Promise.all([links.close(), unlistInDirectory(store, "breaker", name)]);
  }

  const guard = {
    breaker: name,
    settings,
    now: store.now,
    requireUsable() {
      if (closing !== undefined) throw closed(name);
    },
  };

  return {
    name,
    ...guardTarget(links.of("default"), guard),

    for(target, more?: unknown) {
      guard.requireUsable();
      rejectMore("for(target)", more);
      return guardTarget(links.of(checkTarget(target)), guard);
    },

    async close(...given: unknown[]) {
      rejectCloseOptions(given);
      closing ??= close();
      await closing;
    },
  };
}

const linksOf = clientPart(
  "breakerLinks/2",
  (_: object, name: string, store: CountingStore, settings: Settings<never>): Links =>
    linkTargets(name, store, settings),
);

function linkTargets(name: string, store: CountingStore, settings: Settings<never>): Links {
  const { policy, storeTimes, flushInterval } = settings;
  const access = accessStore(store, storeTimes);
  const unsent = new Set<TargetLink>();
  const context = {
    breaker: name,
    access,
    local: access.isShared ? memoryOn(store, settings.maxTargets) : undefined,
    flushInterval,
    freshFor: freshFor(access.isShared, settings),
    unsent,
  };
  const suffix = `:breaker/${escapePart(name)}`;
  const shape = shapeOf(settings);

  function keysOf(target: string): TargetKeys {
    const periodKey = `${store.prefix}:{${escapeSubject(target)}}${suffix}`;
    return { periodKey, windowKey: `${periodKey}:${shape}`, policy };
  }

  const registry = new LinkRegistry(
    settings.maxTargets,
    (targetName, target) => new TargetLink(targetName, keysOf(target), context),
  );
  return {
    of: (target) => registry.of(target),
    async flush() {
      await Promise.all([...unsent].map((link) => link.drain()));
    },
    close: access.close,
    targets: () => registry.called(),
  };
}

/** The part of the policy that is in the keys in which calls are counted. */
function shapeOf({ policy: { window, size } }: Settings<never>): string {
  return fingerprint(`${window.kind} ${size}`);
}

/** A breaker's record in the directory. */
function breakerRecord(name: string, settings: Settings<never>): BreakerRecord {
  return {
    kind: "breaker",
    name,
    policy: fingerprint(settings.canonical),
    options: settings.deciding,
    fingerprint: shapeOf(settings),
    version: VERSION,
  };
}

/** A target has a state and a window. */
const KEYS = 2;

/** Memory of this process on a store's clock. */
function memoryOn(store: CountingStore, targets: number): CountingStore {
  return requireStore(memoryStore({ maxKeys: KEYS * targets, clock: () => store.now() / 1_000 }));
}

/** In memory nothing grows stale; without a flush interval, each call asks. */
function freshFor(isShared: boolean, { flushInterval, storeTimes }: Settings<never>): number {
  if (!isShared) return Number.POSITIVE_INFINITY;
  return flushInterval === 0 ? 0 : flushInterval + storeTimes.timeoutMs * 1_000;
}

/** The name and the store of a breaker's counts. */
function placeOf(
  { name, store }: BreakerOptions<never>,
  maxTargets: number,
): { name: string; store: CountingStore } {
  const place = store === undefined ? memoryStore({ maxKeys: KEYS * maxTargets }) : store;
  const counting = requireStore(place);
  // Counts in the breaker's own memory need no name.
  const named = name === undefined && store === undefined ? "breaker" : name;
  requireName(named);
  return { name: named, store: counting };
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

function closed(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the breaker ${formatReceived(name)} has been closed`,
  );
}
