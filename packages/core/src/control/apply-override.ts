import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { compilePolicy, recompileLimit } from "../algorithms/compile-policy.ts";
import {
  codeOf,
  formatKind,
  formatReceived,
  HeadgateError,
  invalidOption,
  invalidValue,
} from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { prepareLimits } from "../operations/counter.ts";
import type { LimitGroup } from "../policy/compiled-policy.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import { alignLayouts } from "../policy/effective-limits.ts";
import type { LimitOverride, Override } from "./record.ts";
import { LIMIT_OVERRIDE_FIELDS } from "./record-text.ts";

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
function overrideLimit(limit: CompiledLimit, numbers: LimitOverride): CompiledLimit {
  const compiled = recompileLimit(limit, { ...limit.source, ...numbers } as Limit);
  return { ...compiled, name: limit.name };
}

/**
 * Checks that an override fits a policy as configured. Throws `HEADGATE_INVALID_OPTION` for anything that the policy does not
 * have or an override cannot change, and `HEADGATE_INVALID_LIMIT` for numbers out of range.
 */
export function checkOverride(policy: Policy, override: Partial<Override>): void {
  rejectUnknownOptions("override", override, [
    "limiter",
    "subject",
    "limits",
    "shadow",
    "from",
    "until",
  ]);
  const { subject, limits, shadow } = override;
  if (limits === undefined && shadow === undefined) {
    throw invalidOption("override changes nothing: it takes limits, shadow, or both");
  }
  readBoolean("override: shadow", shadow);
  const compiled = compilePolicy(policy);
  if (subject !== undefined) checkSubject(compiled, subject);
  if (limits === undefined) return;
  requireEntries("override: limits", limits, "at least one limit by its name");
  for (const [name, numbers] of Object.entries(limits)) {
    for (const limit of limitsNamed(compiled, name, subject)) checkLimitOverride(limit, numbers);
  }
}

/** Why an override does not fit a policy, as `checkOverride` throws it; undefined if it fits. */
export function incompatibilityOf(
  policy: Policy,
  override: Partial<Override>,
): HeadgateError | undefined {
  try {
    checkOverride(policy, override);
    return undefined;
  } catch (error) {
    if (error instanceof HeadgateError) return error;
    throw error;
  }
}

/** Why an override fits none of several policies: the error for the first of them; undefined if it fits any of them. */
export function incompatibilityWithAll(
  policies: readonly Policy[],
  override: Partial<Override>,
): HeadgateError | undefined {
  const incompatibilities = policies.map((policy) => incompatibilityOf(policy, override));
  return incompatibilities.includes(undefined) ? undefined : incompatibilities[0];
}

function checkSubject(compiled: readonly CompiledLimit[], subject: object): void {
  requireEntries("override: subject", subject, "the subject of at least one dimension");
  const dimensions = [...new Set(compiled.map(({ per }) => per))];
  for (const [dimension, value] of Object.entries(subject) as [string, unknown][]) {
    if (!dimensions.includes(dimension)) {
      throw invalidOption(
        `override: no limit counts by ${formatReceived(dimension)}; this limiter counts by ${dimensions.join(", ")}`,
      );
    }
    if (typeof value !== "string" || value === "") {
      throw invalidValue(
        `override: the subject of ${formatReceived(dimension)} must be a non-empty string`,
        value,
        formatKind,
      );
    }
    if (dimension === GLOBAL_DIMENSION && value !== GLOBAL_SUBJECT) {
      throw invalidValue(
        `override: the subject of "${GLOBAL_DIMENSION}" is everybody, "${GLOBAL_SUBJECT}"`,
        value,
        formatKind,
      );
    }
  }
}

/** The limits with a name; for a subject, those that count by it. */
function limitsNamed(
  compiled: readonly CompiledLimit[],
  name: string,
  subject: Override["subject"],
): readonly CompiledLimit[] {
  const all = compiled.filter((limit) => limit.name === name);
  if (all.length === 0) {
    const names = [...new Set(compiled.map((limit) => formatReceived(limit.name)))].join(", ");
    throw invalidOption(
      `override: no limit is called ${formatReceived(name)}; the limits are ${names}`,
    );
  }
  if (subject === undefined) return all;
  const matching = all.filter(({ per }) => Object.hasOwn(subject, per));
  if (matching.length > 0) return matching;
  throw invalidOption(
    `override: the limit ${formatReceived(name)} counts by ${all.map(({ per }) => per).join(", ")}, and the override is for a subject of ${Object.keys(subject).join(", ")}`,
  );
}

function checkLimitOverride(limit: CompiledLimit, numbers: LimitOverride): void {
  const owner = `override of ${formatReceived(limit.name)}`;
  requireEntries(owner, numbers, `at least one of ${LIMIT_OVERRIDE_FIELDS.join(", ")}`);
  rejectUnknownOptions(owner, numbers, LIMIT_OVERRIDE_FIELDS);
  try {
    overrideLimit(limit, numbers);
  } catch (error) {
    if (codeOf(error) !== "HEADGATE_INVALID_LIMIT") throw error;
    throw new HeadgateError("HEADGATE_INVALID_LIMIT", `${owner}: ${(error as Error).message}`);
  }
}

function requireEntries(owner: string, value: unknown, rule: string): void {
  if (isPlainObject(value) && Object.keys(value).length > 0) return;
  throw invalidValue(`${owner} must be an object with ${rule}`, value, formatKind);
}
