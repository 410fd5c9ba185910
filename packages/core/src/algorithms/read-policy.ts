import { formatReceived, HeadgateError } from "../errors.ts";
import { isPlainObject } from "../options.ts";
import type { Limit, Policy } from "../policy.ts";
import { rejectForm } from "./compile-limit.ts";
import { compilePolicy, eachLimit } from "./compile-policy.ts";

/** A policy whose dimensions the compiler cannot know: it fits wherever one is taken, and is checked there when it runs. */
// biome-ignore lint/suspicious/noExplicitAny: with `string` the adapters would take no such policy.
type ReadPolicy = Policy<any>;

/**
 * Reads a policy that comes from elsewhere, a file, a database, the environment: a limit, or a list of 1 to 100, as plain
 * data. What it returns is checked, and a copy, which no later change of `value` reaches.
 *
 * Throws `HEADGATE_INVALID_LIMIT`, which says what is wrong, and in a list where: `limits[1]: gcra: unknown option "max"...`.
 */
export function readPolicy(value: unknown): ReadPolicy {
  const limits = eachLimit(value, copyLimit);
  const policy = Array.isArray(value) ? limits : (limits[0] as Limit);
  compilePolicy(policy);
  return policy;
}

/** A copy of what is its own and plain: no getter is asked, nothing inherited is read. Its values, if valid, hold nothing that can change. */
function copyLimit(value: unknown): Limit {
  if (!isPlainObject(value)) rejectForm(value);
  const properties = Reflect.ownKeys(value).map((key): [string, unknown] => {
    const property = Object.getOwnPropertyDescriptor(value, key);
    const isPlain = property?.enumerable && "value" in property;
    if (isPlain && typeof key === "string") return [key, property.value];
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      `a limit must be plain data, but its property ${formatReceived(String(key))} is a getter, hidden or a symbol`,
    );
  });
  return Object.fromEntries(properties) as unknown as Limit;
}
