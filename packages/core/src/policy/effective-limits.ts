import type { CompiledLimit, LimitShape } from "../algorithms/algorithm.ts";
import { compileLimit, mapLimits, rejectNonLimit } from "../algorithms/compile-policy.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { prepareLimits } from "../operations/counter.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";

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
  const groups = base.groups.map((group) => {
    const own = group.positions.map((position) => limits[position] as CompiledLimit);
    return { ...group, ...prepareLimits(own) };
  });
  return { ...base, groups, limits };
}

/** Compiles a limit that blocks as the base's limits do; a limit that cannot do so has another shape. */
function compileReplacement({ blocksOnSettle }: CompiledPolicy, limit: Limit): CompiledLimit {
  return compileLimit(
    limit,
    blocksOnSettle && limit?.algorithm === "fixedWindow" ? "settle" : "denial",
  );
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

/** The properties of a limit or an option. */
export type Properties = Readonly<Record<string, unknown>>;

/**
 * Copies a policy's limits, because the application may change its own objects; reads each property once. Throws
 * `HEADGATE_INVALID_LIMIT`.
 */
export function copyLimits(policy: Policy): readonly Properties[] {
  return mapLimits(policy, copyLimit);
}

function copyLimit(limit: unknown): Properties {
  if (!isPlainObject(limit)) rejectNonLimit(limit);
  return copyValues(limit, (value) =>
    isPlainObject(value) ? copyValues(value, copyList) : copyList(value),
  );
}

function copyValues(object: Properties, copy: (value: unknown) => unknown): Properties {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, copy(value)]));
}

function copyList(value: unknown): unknown {
  return Array.isArray(value) ? [...value] : value;
}

/** Whether a policy has the same limits as the copies, in the same order. Serialising it would take as long as a decision. */
export function areSameLimits(policy: unknown, limits: readonly Properties[]): boolean {
  if (!Array.isArray(policy)) {
    return limits.length === 1 && areSameProperties(policy, limits[0] as Properties);
  }
  return (
    policy.length === limits.length &&
    limits.every((limit, i) => areSameProperties(policy[i] as unknown, limit))
  );
}

/** Whether a value is a plain object with the same properties; undefined ones do not count. */
function areSameProperties(value: unknown, known: Properties): boolean {
  return isPlainObject(value) && hasSameValues(value, known) && hasSameValues(known, value);
}

function hasSameValues(one: Properties, other: Properties): boolean {
  for (const name of Object.keys(one)) if (!isSameValue(one[name], other[name])) return false;
  return true;
}

/** Whether two values of an option or a limit are equal: the same, or lists or plain objects of equal values. */
export function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, i) => isSameValue(item, other[i]));
  }
  return isPlainObject(other) && areSameProperties(one, other);
}
