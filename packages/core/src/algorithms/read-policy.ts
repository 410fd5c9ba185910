import { formatReceived, HeadgateError } from "../common/errors.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { rejectNonLimit } from "./compile-limit.ts";
import { compilePolicy, mapLimits } from "./compile-policy.ts";

/**
 * Reads a policy that comes from a file, a database or the environment: a limit, or a list of 1 to 100, as plain data. Returns
 * a checked copy, which later changes to `value` do not affect.
 *
 * Throws `HEADGATE_INVALID_LIMIT`, whose message says what is wrong and where in the list: `limits[1]: gcra: unknown option
 * "max"...`.
 */
export function readPolicy(value: unknown): Policy {
  const limits = mapLimits(value, copyLimit);
  const policy = Array.isArray(value) ? limits : (limits[0] as Limit);
  compilePolicy(policy);
  return policy;
}

/** Copies own data properties only and calls no getter. */
function copyLimit(value: unknown): Limit {
  if (!isPlainObject(value)) rejectNonLimit(value);
  return copyPlain(value, copyValue) as unknown as Limit;
}

function copyPlain(value: object, copy: (value: unknown) => unknown): object {
  const properties = Reflect.ownKeys(value).map((key): [string, unknown] => {
    const property = Object.getOwnPropertyDescriptor(value, key);
    const isPlain = property?.enumerable && "value" in property;
    if (isPlain && typeof key === "string") return [key, copy(property.value)];
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      `a limit must be plain data, but its property ${formatReceived(String(key))} is a getter, hidden or a symbol`,
    );
  });
  return Object.fromEntries(properties);
}

/** The values in a valid limit are primitives, lists of primitives, and, for `block`, an object of those. */
function copyValue(value: unknown): unknown {
  return isPlainObject(value) ? copyPlain(value, copyList) : copyList(value);
}

function copyList(value: unknown): unknown {
  return Array.isArray(value) ? [...value] : value;
}
