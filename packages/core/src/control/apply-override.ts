import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { recompileLimit } from "../algorithms/compile-limit.ts";
import type { Limit } from "../common/policy.ts";
import { prepareLimits } from "../operations/counter.ts";
import type { LimitGroup } from "../policy/compiled-policy.ts";
import { alignLayouts } from "../policy/effective-limits.ts";
import type { LimitOverride, Override } from "./record.ts";

/**
 * A group with the numbers of an override; the same group if none of its limits changes. An override for a subject changes the
 * limits that count by it. Throws `HEADGATE_INVALID_LIMIT` for numbers that do not fit.
 */
export function applyOverride(group: LimitGroup, { subject, limits }: Override): LimitGroup {
  if (limits === undefined) return group;
  if (subject !== undefined && !Object.hasOwn(subject, group.dimension)) return group;
  const changed = group.limits.map((limit) => applyToLimit(limit, limits));
  if (changed.every((limit, i) => limit === group.limits[i])) return group;
  return { ...group, ...prepareLimits(alignLayouts(group.limits, changed)) };
}

function applyToLimit(
  limit: CompiledLimit,
  limits: NonNullable<Override["limits"]>,
): CompiledLimit {
  const numbers = Object.hasOwn(limits, limit.name) ? limits[limit.name] : undefined;
  return numbers === undefined ? limit : overrideLimit(limit, numbers);
}

/** A limit with other numbers, and with its configured name. Throws `HEADGATE_INVALID_LIMIT`. */
export function overrideLimit(limit: CompiledLimit, numbers: LimitOverride): CompiledLimit {
  const compiled = recompileLimit(limit, { ...limit.source, ...numbers } as Limit);
  return { ...compiled, name: limit.name };
}
