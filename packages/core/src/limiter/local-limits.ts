import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { compileLimit } from "../algorithms/compile-limit.ts";
import type { Limit } from "../policy.ts";
import type { Group, GroupUnit } from "./counters.ts";

/** The limits of a limiter as one process counts them by itself. */
export interface LocalLimits {
  /** The same unit with this process's share of its limits. */
  unitOf(unit: GroupUnit): GroupUnit;
  /** What a cost counts here: no more than the share, where the limit itself would have had room for it. */
  costFor(units: readonly GroupUnit[], cost: number): number;
}

/** Takes a share of each limit, above 0, up to 1: rounded down, at least one unit. */
export function shareLimits(groups: readonly Group[], share: number): LocalLimits {
  const shared = new Map(groups.map((group) => [group, shareGroup(group, share)]));
  // Limiters that share a name may differ in their share: these are other counts.
  const keySuffix = share === 1 ? "" : `:${share}`;
  return {
    unitOf(unit) {
      const group = shared.get(unit.group) as Group;
      const { limits, description } = group;
      return { group, limits, description, key: unit.key + keySuffix };
    },
    costFor(units, cost) {
      const limits = units.flatMap((unit) => unit.group.limits);
      if (limits.some(({ limit }) => cost > limit)) return cost;
      const here = units.flatMap(({ group }) => (shared.get(group) as Group).limits);
      return Math.min(cost, ...here.map(({ limit }) => limit));
    },
  };
}

function shareGroup(group: Group, share: number): Group {
  if (share === 1) return group;
  const limits = group.limits.map((limit) => shareLimit(limit, share));
  return { ...group, limits };
}

function shareLimit(compiled: CompiledLimit, share: number): CompiledLimit {
  const of = (quota: number): number => Math.max(1, Math.floor(quota * share));
  // A client keeps seeing the limit under the name it knows.
  const { name, per } = compiled;
  return { ...compileLimit(shareOf(compiled.source, of)), name, per };
}

function shareOf(limit: Limit, of: (quota: number) => number): Limit {
  switch (limit.algorithm) {
    case "gcra":
      return { ...limit, limit: of(limit.limit), burst: of(limit.burst ?? limit.limit) };
    case "tokenBucket":
      return { ...limit, capacity: of(limit.capacity), refill: of(limit.refill) };
    default:
      return { ...limit, limit: of(limit.limit) };
  }
}
