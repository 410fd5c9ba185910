import type { CompiledLimit, LimitShape } from "../algorithms/algorithm.ts";
import { compileLimit } from "../algorithms/compile-limit.ts";
import { mapLimits } from "../algorithms/compile-policy.ts";
import type { Limit } from "../common/policy.ts";
import { prepareLimits } from "../operations/counter.ts";
import type { CompiledPolicy, LimitGroup } from "./compiled-policy.ts";

/**
 * A policy with other numbers, on the same counters and with the configured names. Limits may come
 * in any order, and without a name if their shape is unique. Block lengths, the number of denials
 * before a block and thresholds count as numbers, too. Undefined if the limits differ in anything
 * else. Throws `HEADGATE_INVALID_LIMIT` for invalid limits.
 */
export function replaceLimits(
  base: CompiledPolicy,
  policy: readonly Limit[],
): CompiledPolicy | undefined {
  const given = mapLimits(policy, (limit) => compileReplacement(base, limit as Limit));
  if (given.length !== base.limits.length) return undefined;
  const found = base.limits.map((limit) => replacementFor(limit, base.limits, given));
  if (!found.every((limit) => limit !== undefined)) return undefined;
  const limits = alignLayouts(base.limits, found);
  const groups = base.groups.map((group) => ({ ...group, ...counterLimitsOf(group, limits) }));
  return { ...base, groups, limits };
}

/** Compiles a limit that blocks like those of the base; one that cannot is not of the base's shape. */
function compileReplacement({ blocksOnSettle }: CompiledPolicy, limit: Limit): CompiledLimit {
  return compileLimit(
    limit,
    blocksOnSettle && limit?.algorithm === "fixedWindow" ? "settle" : "denial",
  );
}

function counterLimitsOf({ positions }: LimitGroup, limits: readonly CompiledLimit[]) {
  return prepareLimits(positions.map((position) => limits[position] as CompiledLimit));
}

/** A limit of the base with the numbers given for it; undefined if there are none. */
function replacementFor(
  limit: CompiledLimit,
  base: readonly CompiledLimit[],
  given: readonly CompiledLimit[],
): CompiledLimit | undefined {
  const isAlone = base.filter((other) => hasSameShape(limit, other)).length === 1;
  const found = given.find(
    (other) =>
      hasSameShape(limit, other) && (other.source.name ?? (isAlone && limit.name)) === limit.name,
  );
  return found && { ...found, name: limit.name };
}

function hasSameShape(one: CompiledLimit, other: CompiledLimit): boolean {
  return one.per === other.per && one.shape.id === other.shape.id;
}

/**
 * Limits in the same number layout as the base or, if one of them has an additional number, all
 * with the most numbers that they can have. So a policy needs scripts for at most two layouts,
 * however many sets of numbers are used. Each notifies if it says so itself.
 */
export function alignLayouts(
  base: readonly CompiledLimit[],
  limits: readonly CompiledLimit[],
): readonly CompiledLimit[] {
  const isSame = limits.every(
    ({ parameters }, i) => parameters.length === (base[i] as CompiledLimit).parameters.length,
  );
  return isSame
    ? limits.map((limit, i) => ({ ...limit, shape: alignShape(base[i] as CompiledLimit, limit) }))
    : limits.map(expandAliases);
}

function alignShape({ shape }: CompiledLimit, { shape: { notifies } }: CompiledLimit): LimitShape {
  return shape.notifies === notifies ? shape : { ...shape, notifies: notifies === true };
}

/** A limit with a separate number for each name that was an alias. */
function expandAliases(limit: CompiledLimit): CompiledLimit {
  const { aliases, ...shape } = limit.shape;
  if (aliases === undefined) return limit;
  const same = Object.values(aliases).map((name) => shape.parameters.indexOf(name));
  return {
    ...limit,
    shape: { ...shape, parameters: [...shape.parameters, ...Object.keys(aliases)] },
    parameters: [...limit.parameters, ...same.map((place) => limit.parameters[place] as number)],
  };
}
