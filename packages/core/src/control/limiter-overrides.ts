import { BackgroundTimer } from "../common/background.ts";
import { shareByClient } from "../common/client-state.ts";
import { formatReceived } from "../common/errors.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { OverrideEffect, SubjectCounter } from "../policy/counters.ts";
import { applyOverride, incompatibilityOf } from "./apply-override.ts";
import type { LimiterControl } from "./control.ts";
import type { OverrideIndex, SubjectLookup } from "./override-index.ts";
import { overrideIndexOf } from "./override-index.ts";
import type { ControlRecord, Override } from "./record.ts";

/** The overrides of one limiter, indexed by subject. */
interface LimiterOverrideIndex {
  readonly limiter: string;
  readonly index: OverrideIndex | undefined;
}

/** An operator's changes to a limiter, and to the one that it extends. */
export interface Overrides {
  /** The overrides of the limiter and of the one that it extends; undefined if there are none, so that `apply` can be skipped. */
  readonly indexes: readonly LimiterOverrideIndex[] | undefined;
  /** Reads the record again if it is due. */
  readonly refresh: LimiterControl["refresh"];
  /**
   * Counters with the overrides in force for them; the same list if there are none. `policy` is the policy that they belong to,
   * by default the limiter's own.
   */
  apply(counters: readonly SubjectCounter[], policy?: CompiledPolicy): readonly SubjectCounter[];
  /** After `refresh`: whether the limiter is in shadow mode for all subjects; undefined if no override applies to all subjects. */
  isInShadow(): Promise<boolean | undefined>;
  /**
   * Calls back within two seconds after the effective limits of counters differ from those of `waiting`, until the returned
   * function is called.
   */
  onChange(
    counters: readonly SubjectCounter[],
    policy: CompiledPolicy,
    waiting: readonly SubjectCounter[],
    callback: () => void,
  ): () => void;
}

/**
 * How often waiting calls check whether their overrides have changed, in milliseconds: soon enough for when a change is in
 * force everywhere.
 */
const CHECK_INTERVAL_MS = 250;

/** How many incompatible overrides are reported for each client. */
const MAX_REPORTED = 1_000;

/** The messages about incompatible overrides that were reported. */
const reportedOn = shareByClient("ignoredOverrides", () => new Set<string>());

/** The limiter that is overridden. */
interface OverriddenLimiter {
  readonly monitor: StoreMonitor | undefined;
  readonly endLeases: Stage["endLeases"];
  /** Policies of other shapes that calls have passed. */
  readonly perCallPolicies: () => Iterable<CompiledPolicy>;
}

interface Watcher {
  readonly counters: readonly SubjectCounter[];
  readonly policy: CompiledPolicy;
  readonly effectiveLimits: string;
  readonly callback: () => void;
}

/** The overrides of a policy. The leased units of an overridden subject are returned. */
export function createOverrides(
  control: LimiterControl,
  ownPolicy: CompiledPolicy,
  overridden: OverriddenLimiter,
): Overrides {
  const limiters = [...new Set(ownPolicy.groups.map(({ limiter }) => limiter))];
  const isCompatible = createCompatibilityCheck(ownPolicy, overridden);
  const watchers = new Set<Watcher>();
  const { refresh, cache } = control;
  const timer = new BackgroundTimer(() => {
    timer.set(CHECK_INTERVAL_MS);
    const refreshed = refresh();
    if (refreshed === undefined) checkWatchers();
    else void refreshed.then(checkWatchers);
  });

  function applyRecord(record: ControlRecord): void {
    const own = limiters.map((limiter) => ({
      limiter,
      index: overrideIndexOf(record, limiter),
    }));
    overrides.indexes = own.some(({ index }) => index !== undefined) ? own : undefined;
    if (overrides.indexes === undefined) return;
    overridden.endLeases?.((counter) => apply([counter])[0]?.overrideEffect !== undefined);
  }

  /** The overrides in force for a limiter's counters. */
  function findActive(
    { index }: LimiterOverrideIndex,
    subjectIn: SubjectLookup,
    policy = ownPolicy,
  ): readonly Override[] {
    if (index === undefined) return [];
    const checked = policy.perCallKeyspace === undefined ? ownPolicy : policy;
    return index.find(subjectIn, cache.now()).filter((override) => isCompatible(override, checked));
  }

  /**
   * Whether a decision is in shadow mode under overrides. A decision over two limiters is only if both are: an override of one
   * lifts no limit of the other.
   */
  function isShadowUnder(overrides: readonly Override[]): boolean {
    return overrides.findLast(({ shadow }) => shadow !== undefined)?.shadow ?? ownPolicy.shadow;
  }

  function apply(
    counters: readonly SubjectCounter[],
    policy?: CompiledPolicy,
  ): readonly SubjectCounter[] {
    const { indexes } = overrides;
    if (indexes === undefined) return counters;
    const byLimiter = indexes.flatMap((one) => {
      const own = counters.filter(({ group }) => group.limiter === one.limiter);
      if (own.length === 0) return [];
      const subjectIn: SubjectLookup = (dimension) =>
        own.find(({ group }) => group.dimension === dimension)?.subject;
      return [{ limiter: one.limiter, overrides: findActive(one, subjectIn, policy) }];
    });
    if (byLimiter.every(({ overrides }) => overrides.length === 0)) return counters;
    const shadow = byLimiter.every(({ overrides }) => isShadowUnder(overrides));
    return counters.map((counter) => {
      const own = byLimiter.find(({ limiter }) => limiter === counter.group.limiter);
      return applyOverrides(counter, own?.overrides ?? [], { shadow });
    });
  }

  function checkWatchers(): void {
    for (const watcher of watchers) {
      const { counters, policy, effectiveLimits, callback } = watcher;
      if (formatEffectiveLimits(apply(counters, policy)) !== effectiveLimits) callback();
    }
  }

  function removeWatcher(watcher: Watcher): void {
    watchers.delete(watcher);
    if (watchers.size === 0) timer.stop();
  }

  const overrides: { -readonly [Part in keyof Overrides]: Overrides[Part] } = {
    indexes: undefined,
    refresh,
    apply,

    async isInShadow() {
      await refresh();
      const found = overrides.indexes?.map((one) => findActive(one, () => undefined)) ?? [];
      if (found.every((overrides) => overrides.length === 0)) return undefined;
      return found.every(isShadowUnder);
    },

    onChange(counters, policy, waiting, callback) {
      const watcher = {
        counters,
        policy,
        effectiveLimits: formatEffectiveLimits(waiting),
        callback,
      };
      watchers.add(watcher);
      if (!timer.isSet) timer.set(CHECK_INTERVAL_MS);
      return () => removeWatcher(watcher);
    },
  };
  applyRecord(cache.record);
  control.onRecord(applyRecord);
  return overrides;
}

/** Equal if and only if counters are decided in the same way. */
function formatEffectiveLimits(counters: readonly SubjectCounter[]): string {
  return counters
    .map(
      ({ encodedParameters, overrideEffect }) => `${encodedParameters};${overrideEffect?.shadow}`,
    )
    .join();
}

function applyOverrides(
  counter: SubjectCounter,
  overrides: readonly Override[],
  overrideEffect: OverrideEffect,
): SubjectCounter {
  let { group } = counter;
  for (const override of overrides) group = cachedOverride(group, override);
  const {
    limits,
    shape,
    scripts,
    encodedParameters,
    weight,
    logLimits,
    notifyingLimits,
    extraKeys,
    boundariesAt,
  } = group;
  const own = {
    limits,
    shape,
    scripts,
    encodedParameters,
    weight,
    logLimits,
    notifyingLimits,
    extraKeys,
    boundariesAt,
  };
  return { ...counter, group, ...own, overrideEffect };
}

/** Groups under overrides, compiled once. */
const compiled = new WeakMap<Override, WeakMap<LimitGroup, LimitGroup>>();

function cachedOverride(group: LimitGroup, override: Override): LimitGroup {
  const known = compiled.get(override) ?? new WeakMap<LimitGroup, LimitGroup>();
  compiled.set(override, known);
  const result = known.get(group) ?? applyOverride(group, override);
  known.set(group, result);
  return result;
}

/**
 * Checks whether an override fits a policy of the limiter that it names. One that fits neither the limiter's own policy nor any
 * passed with a call is reported once.
 */
function createCompatibilityCheck(
  ownPolicy: CompiledPolicy,
  { monitor, perCallPolicies }: OverriddenLimiter,
): (override: Override, policy: CompiledPolicy) => boolean {
  const checked = new WeakMap<CompiledPolicy, WeakMap<Override, boolean>>();

  function check(override: Override, policy: CompiledPolicy): boolean {
    const why = incompatibilityReason(override, policy);
    if (why === undefined) return true;
    const isOwn = policy === ownPolicy;
    if (
      isOwn &&
      [...perCallPolicies()].every((other) => incompatibilityReason(override, other) !== undefined)
    ) {
      reportOnce(override, why);
    }
    return false;
  }

  function reportOnce({ limiter }: Override, why: string): void {
    const reported = reportedOn(ownPolicy.store.owner);
    const message = `an override of the limiter ${formatReceived(limiter)} does not fit it, and is ignored: ${why}`;
    if (reported.has(message) || reported.size >= MAX_REPORTED) return;
    reported.add(message);
    monitor?.log.log("HEADGATE_OVERRIDE_IGNORED", message);
  }

  return (override, policy) => {
    const known = checked.get(policy) ?? new WeakMap<Override, boolean>();
    checked.set(policy, known);
    const isFit = known.get(override) ?? check(override, policy);
    known.set(override, isFit);
    return isFit;
  };
}

/** Why an override does not fit a policy; undefined if it fits. */
function incompatibilityReason(override: Override, { groups }: CompiledPolicy): string | undefined {
  const own = groups.filter(({ limiter }) => limiter === override.limiter);
  const limits = own.flatMap((group) => group.limits.map(({ source }) => source));
  return incompatibilityOf(limits, override)?.message;
}
