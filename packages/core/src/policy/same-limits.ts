import { rejectNonLimit } from "../algorithms/compile-limit.ts";
import { mapLimits } from "../algorithms/compile-policy.ts";
import type { Policy } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";

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
  const { block, notifyAt, ...properties } = limit;
  return {
    ...properties,
    ...(block !== undefined && { block: copyBlock(block) }),
    ...(notifyAt !== undefined && { notifyAt: copyList(notifyAt) }),
  };
}

function copyBlock(block: unknown): unknown {
  if (!isPlainObject(block)) return copyList(block);
  return Object.fromEntries(Object.entries(block).map(([name, value]) => [name, copyList(value)]));
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
