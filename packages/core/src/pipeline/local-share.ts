import type { Algorithm, CompiledLimit } from "../algorithms/algorithm.ts";
import { recompileLimit } from "../algorithms/compile-limit.ts";
import type { Limit } from "../common/policy.ts";
import type { LimitGroup } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";

const NONE: readonly never[] = [];

/**
 * Finds the counter with which a process counts its share of another counter's limits. The share is
 * above 0 and up to 1; each limit is rounded down, to at least one unit if it grants any. A cost
 * that fits the limit but not the share counts as the whole share. Its thresholds are not reported:
 * this process does not know the usage of the fleet.
 */
export function scaleToShare(share: number): (counter: SubjectCounter) => SubjectCounter {
  if (share === 1) {
    return (counter) =>
      counter.notifyingLimits.length === 0 ? counter : { ...counter, notifyingLimits: NONE };
  }
  // Also for groups with overridden numbers, which come and go.
  const shared = new WeakMap<LimitGroup, LimitGroup>();
  return (counter) => {
    const group = shared.get(counter.group) ?? scaleGroup(counter.group, share);
    shared.set(counter.group, group);
    return {
      ...counter,
      group,
      limits: group.limits,
      notifyingLimits: NONE,
      key: `${counter.key}:${share}`,
    };
  };
}

function scaleGroup(group: LimitGroup, share: number): LimitGroup {
  return { ...group, limits: group.limits.map((limit) => scaleLimit(limit, share)) };
}

function scaleLimit(whole: CompiledLimit, share: number): CompiledLimit {
  // Rounded up a little, for shares such as 1 / 49 that a double cannot represent.
  const of = (quota: number): number =>
    Math.min(quota, Math.max(1, Math.floor(quota * share * (1 + 2 ** -50))));
  const compiled = recompileLimit(whole, scaleConfigured(whole.source, of));
  const algorithm = capCosts(compiled.algorithm, whole.limit, compiled.limit);
  // Clients keep seeing the limit under the name they know.
  return { ...compiled, algorithm, name: whole.name, per: whole.per };
}

function scaleConfigured(limit: Limit, of: (quota: number) => number): Limit {
  switch (limit.algorithm) {
    case "gcra":
      return { ...limit, limit: of(limit.limit), burst: limit.burst && of(limit.burst) };
    case "tokenBucket":
      return { ...limit, capacity: of(limit.capacity), refill: of(limit.refill) };
    default:
      return { ...limit, limit: of(limit.limit) };
  }
}

/** The same arithmetic for costs up to the whole limit, with each cost capped at the share. */
function capCosts(
  algorithm: Algorithm<unknown, unknown>,
  whole: number,
  share: number,
): Algorithm<unknown, unknown> {
  const cap = (cost: number): number => (cost <= whole ? Math.min(cost, share) : cost);
  /** How much a part of a request counts for, in addition to the rest of it. */
  const additionalUnits = (cost: number, beside = 0): number => cap(beside + cost) - cap(beside);
  return {
    ...algorithm,
    ...(algorithm.acquireSlots && {
      acquireSlots: (state, quota, holder, number) =>
        algorithm.acquireSlots?.(state, quota, holder, cap(number)),
    }),
    waitTime: (state, quota, cost) => algorithm.waitTime(state, quota, cap(cost)),
    spend(state, quota, cost, beside) {
      const units = additionalUnits(cost, beside);
      if (units > 0) algorithm.spend(state, quota, units);
    },
    refund(state, quota, cost, age, beside) {
      const units = additionalUnits(cost, beside);
      return units > 0 && algorithm.refund(state, quota, units, age);
    },
  };
}
