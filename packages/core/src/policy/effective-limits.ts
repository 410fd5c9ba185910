import type { CompiledLimit, LimitShape } from "../algorithms/algorithm.ts";
import { compileLimit } from "../algorithms/compile-limit.ts";
import { mapLimits } from "../algorithms/compile-policy.ts";
import type { Limit } from "../common/policy.ts";
import { prepareLimits } from "../operations/counter.ts";
import type { CompiledPolicy, LimitGroup } from "./compiled-policy.ts";

/**
 * The policy with the numbers of a call's limits. It keeps its counters and its configured names. The limits may
 * come in any order, and without a name if their shape is unique. Block lengths, the number of denials before a block and thresholds
 * count as numbers, too. Returns undefined if the limits differ in anything else. Throws `HEADGATE_INVALID_LIMIT`.
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

/** Compiles a limit that blocks as the base's limits do; a limit that cannot do so has another shape. */
function compileReplacement({ blocksOnSettle }: CompiledPolicy, limit: Limit): CompiledLimit {
  return compileLimit(
    limit,
    blocksOnSettle && limit?.algorithm === "fixedWindow" ? "settle" : "denial",
  );
}

function counterLimitsOf({ positions }: LimitGroup, limits: readonly CompiledLimit[]) {
  return prepareLimits(positions.map((position) => limits[position] as CompiledLimit));
}

/** The limit that replaces a limit of the base, under the configured name; undefined if there is none. */
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
 * Gives limits the number layout of the base or, if one of them has an additional number, the layout with the most numbers for all.
 * So a policy needs scripts for at most two layouts, however many sets of numbers are in use. Whether a limit notifies is up to the
 * limit itself.
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

/** Gives a limit a number of its own for each name that was an alias of another. */
function expandAliases(limit: CompiledLimit): CompiledLimit {
  const { aliases, ...shape } = limit.shape;
  if (aliases === undefined) return limit;
  const same = Object.values(aliases).map((name) => shape.parameters.indexOf(name));
  return {
    ...limit,
    shape: { ...shape, parameters: [...shape.parameters, ...Object.keys(aliases)] },
    parameters: [...limit.parameters, ...same.map((index) => limit.parameters[index] as number)],
  };
}
