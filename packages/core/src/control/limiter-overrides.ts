import { shareByClient } from "../common/client-state.ts";
import { formatReceived } from "../common/errors.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { OverrideEffect, SubjectCounter } from "../policy/counters.ts";
import { counterOf } from "../policy/counters.ts";
import { applyOverride, incompatibilityOf } from "./apply-override.ts";
import type { OverrideIndex, SubjectLookup } from "./override-index.ts";
import { overrideIndexOf } from "./override-index.ts";
import type { ControlRecord, Override } from "./record.ts";

/** Whether an override fits a policy of the limiter that it names. */
type CompatibilityCheck = (override: Override, policy: CompiledPolicy) => boolean;

/** The overrides of a record for a policy; undefined if it has none for the limiter, nor for the one that it extends. */
export function overridesIn(
  record: ControlRecord,
  policy: CompiledPolicy,
  isCompatible: CompatibilityCheck,
): LimiterOverrides | undefined {
  const limiters = [...new Set(policy.groups.map(({ limiter }) => limiter))];
  const indexes = new Map(limiters.map((limiter) => [limiter, overrideIndexOf(record, limiter)]));
  return [...indexes.values()].some((index) => index !== undefined)
    ? new LimiterOverrides(indexes, policy, isCompatible)
    : undefined;
}

/** The overrides of one record for a limiter, and for the one that it extends. */
export class LimiterOverrides {
  /** By the name of each limiter; undefined for one without overrides. */
  readonly #indexes: ReadonlyMap<string, OverrideIndex | undefined>;
  readonly #ownPolicy: CompiledPolicy;
  readonly #isCompatible: CompatibilityCheck;

  constructor(
    indexes: ReadonlyMap<string, OverrideIndex | undefined>,
    ownPolicy: CompiledPolicy,
    isCompatible: CompatibilityCheck,
  ) {
    this.#indexes = indexes;
    this.#ownPolicy = ownPolicy;
    this.#isCompatible = isCompatible;
  }

  /**
   * Counters with the overrides in force for them at a time of the server's clock, in microseconds; the same list if there are
   * none. `policy` is the policy that they belong to, by default the limiter's own.
   */
  override(
    counters: readonly SubjectCounter[],
    now: number,
    policy?: CompiledPolicy,
  ): readonly SubjectCounter[] {
    const active = new Map<string, readonly Override[]>();
    for (const limiter of this.#indexes.keys()) {
      const own = counters.filter(({ group }) => group.limiter === limiter);
      if (own.length === 0) continue;
      const subjectIn: SubjectLookup = (dimension) =>
        own.find(({ group }) => group.dimension === dimension)?.subject;
      active.set(limiter, this.#findActive(limiter, subjectIn, now, policy));
    }
    const all = [...active.values()];
    if (all.every((overrides) => overrides.length === 0)) return counters;
    const effect = { shadow: all.every((overrides) => this.#isShadowUnder(overrides)) };
    return counters.map((counter) =>
      overrideCounter(counter, active.get(counter.group.limiter) ?? [], effect),
    );
  }

  /** Whether the limiter is in shadow mode for all subjects; undefined if no override applies to all subjects. */
  isInShadow(now: number): boolean | undefined {
    const all = [...this.#indexes.keys()].map((limiter) =>
      this.#findActive(limiter, () => undefined, now),
    );
    if (all.every((overrides) => overrides.length === 0)) return undefined;
    return all.every((overrides) => this.#isShadowUnder(overrides));
  }

  #findActive(
    limiter: string,
    subjectIn: SubjectLookup,
    now: number,
    policy = this.#ownPolicy,
  ): readonly Override[] {
    const checked = policy.perCallKeyspace === undefined ? this.#ownPolicy : policy;
    const found = this.#indexes.get(limiter)?.find(subjectIn, now) ?? [];
    return found.filter((override) => this.#isCompatible(override, checked));
  }

  /**
   * Whether a decision is in shadow mode under overrides. A decision over two limiters is only if both are: an override of one
   * lifts no limit of the other.
   */
  #isShadowUnder(overrides: readonly Override[]): boolean {
    return (
      overrides.findLast(({ shadow }) => shadow !== undefined)?.shadow ?? this.#ownPolicy.shadow
    );
  }
}

function overrideCounter(
  counter: SubjectCounter,
  overrides: readonly Override[],
  overrideEffect: OverrideEffect,
): SubjectCounter {
  const group = overrides.reduce(cachedOverride, counter.group);
  return { ...counter, ...counterOf(group, counter.subject, counter.key), overrideEffect };
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

/** How many incompatible overrides are reported for each client. */
const MAX_REPORTED = 1_000;

/** The messages about incompatible overrides that were reported. */
const reportedOn = shareByClient("ignoredOverrides", () => new Set<string>());

/**
 * Checks whether an override fits a policy of the limiter that it names. One that fits neither the limiter's own policy nor any
 * passed with a call is reported once.
 */
export function createCompatibilityCheck(
  ownPolicy: CompiledPolicy,
  monitor: StoreMonitor,
  perCallPolicies: () => Iterable<CompiledPolicy>,
): CompatibilityCheck {
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
    monitor.log.log("HEADGATE_OVERRIDE_IGNORED", message);
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
