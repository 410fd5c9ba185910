import { formatKind, formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import { boundSubject, escapeSubject } from "../common/key.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import type { Counter } from "../operations/counter.ts";
import type { CompiledPolicy, LimitGroup } from "./compiled-policy.ts";

/**
 * The subjects of a request: one subject if there is one dimension, otherwise one for each dimension by name. `null` excludes the
 * limits of a dimension from the decision.
 */
export type Subjects<Dimension extends string = string> =
  | string
  | { readonly [D in Dimension]?: string | null | undefined };

/** The only subject of `per: "global"`. */
export const GLOBAL_SUBJECT = "*";

/** The maximum number of keys that a group caches. */
const MAX_CACHED_KEYS = 2_000;

/** After this many cache misses, the cached keys are dropped, because other subjects are in use now. */
const MAX_KEY_MISSES = 10_000;

/** The effect of overrides on a decision. */
export interface OverrideEffect {
  /** Whether the decision is in shadow mode. */
  readonly shadow: boolean;
}

/** The counter of a group for a subject, with its key. */
export interface SubjectCounter extends Counter {
  readonly group: LimitGroup;
  readonly subject: string;
  /**
   * The effect of overrides on the decision: the same for all of its counters, and undefined if no override applies to any of
   * them.
   */
  readonly overrideEffect?: OverrideEffect | undefined;
}

/**
 * The counters of a request, in some groups or all. Throws `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`,
 * `HEADGATE_INVALID_OPTION`.
 */
export function countersOf(
  policy: CompiledPolicy,
  subjects: Subjects,
  groups: readonly LimitGroup[] = policy.groups,
): SubjectCounter[] {
  const [group] = policy.groups;
  if (policy.groups.length === 1 && group !== undefined) {
    // The fast path for the usual case: one subject in a single dimension.
    const { dimension } = group;
    const isByName =
      typeof subjects === "object" && subjects !== null && Object.keys(subjects).length === 1;
    const subject = isByName && Object.hasOwn(subjects, dimension) ? subjects[dimension] : subjects;
    if (dimension === GLOBAL_DIMENSION) {
      if (typeof subjects === "string") return [counterOf(group, GLOBAL_SUBJECT)];
    } else if (typeof subject === "string" && subject !== "") {
      return [counterOf(group, subject)];
    }
  }
  rejectUnknownDimensions(policy, subjects);
  const counters: SubjectCounter[] = [];
  for (const group of groups) {
    const subject = subjectFor(policy, group.dimension, subjects);
    if (subject !== null) counters.push(counterOf(group, subject));
  }
  if (counters.length === 0) throw noSubjectError(policy);
  return counters;
}

/**
 * The counters of the dimensions that have a subject; `global` is included only if it is given by name. With
 * `ignoreUnknownDimensions`, unknown dimensions are ignored, and the result may be empty. Throws the errors of `countersOf`.
 */
export function countersOfGivenSubjects(
  policy: CompiledPolicy,
  subjects: Subjects,
  ignoreUnknownDimensions = false,
): SubjectCounter[] {
  if (!ignoreUnknownDimensions) rejectUnknownDimensions(policy, subjects);
  const counters: SubjectCounter[] = [];
  for (const group of policy.groups) {
    const { dimension } = group;
    const isNamed = isRecord(subjects)
      ? Object.hasOwn(subjects, dimension)
      : dimension !== GLOBAL_DIMENSION;
    const subject = isNamed ? subjectFor(policy, dimension, subjects) : null;
    if (subject !== null) counters.push(counterOf(group, subject));
  }
  if (
    counters.length === 0 &&
    !(ignoreUnknownDimensions && hasUnknownDimension(policy, subjects))
  ) {
    throw noSubjectError(policy);
  }
  return counters;
}

/** The subjects without those of dimensions that the policy does not count by. */
export function knownSubjects(policy: CompiledPolicy, subjects: Subjects): Subjects {
  if (!isRecord(subjects)) return subjects;
  const dimensions = dimensionsOf(policy);
  return Object.fromEntries(Object.entries(subjects).filter(([name]) => dimensions.includes(name)));
}

/** Whether a subject is given for a dimension that the policy does not count by. */
function hasUnknownDimension(policy: CompiledPolicy, subjects: Subjects): boolean {
  const dimensions = dimensionsOf(policy);
  return isRecord(subjects) && Object.keys(subjects).some((name) => !dimensions.includes(name));
}

/** The counters of a limiter for subjects by dimension; empty if the policy counts by none of these dimensions for it. */
export function countersOfLimiter(
  { groups }: CompiledPolicy,
  limiter: string,
  subject: Readonly<Record<string, string>>,
): SubjectCounter[] {
  return groups
    .filter((group) => group.limiter === limiter && Object.hasOwn(subject, group.dimension))
    .map((group) => counterOf(group, subject[group.dimension] as string));
}

/** Whether a decision on these counters is in shadow mode, and so denies no request. */
export function isShadowDecision(
  { shadow }: CompiledPolicy,
  [first]: readonly SubjectCounter[],
): boolean {
  return first?.overrideEffect?.shadow ?? shadow;
}

/** The counters of units, which can be charged, refunded and reset; concurrency slots cannot. */
export function unitCountersOf<C extends SubjectCounter>(counters: readonly C[]): readonly C[] {
  return counters.filter(({ group }) => group.slotTtl === undefined);
}

/** The counters of concurrency slots. */
export function slotCountersOf<C extends SubjectCounter>(counters: readonly C[]): readonly C[] {
  return counters.filter(({ group }) => group.slotTtl !== undefined);
}

function isRecord(
  subjects: Subjects,
): subjects is Readonly<Record<string, string | null | undefined>> {
  return typeof subjects === "object" && subjects !== null;
}

/** The counter of a subject. `key` is known if the group's limits are those of an override. */
export function counterOf(
  group: LimitGroup,
  subject: string,
  key: string = keyOf(group, subject),
): SubjectCounter {
  return {
    group,
    subject,
    limits: group.limits,
    shape: group.shape,
    encodedParameters: group.encodedParameters,
    weight: group.weight,
    logLimits: group.logLimits,
    notifyingLimits: group.notifyingLimits,
    extraKeys: group.extraKeys,
    scripts: group.scripts,
    rowFormat: group.rowFormat,
    keyspace: group.keySuffix,
    boundariesAt: group.boundariesAt,
    key,
  };
}

function keyOf(group: LimitGroup, subject: string): string {
  if (group.isInMemory) return boundSubject(subject);
  return group.recentKeys.get(subject) ?? buildKey(group, subject);
}

/** Builds a key and caches it if the cache has room: creating, hashing and comparing a new string takes as long as a decision. */
function buildKey(group: LimitGroup, subject: string): string {
  const { keyPrefix, keySuffix, recentKeys } = group;
  const escaped = escapeSubject(subject);
  const key = keyPrefix + escaped + keySuffix;
  if (escaped !== subject) return key;
  group.keyMisses += 1;
  if (group.keyMisses > MAX_KEY_MISSES) {
    recentKeys.clear();
    group.keyMisses = 0;
  }
  // The subject may be a slice of a much larger text, which would stay in memory with it. A slice of the key does not have this
  // problem.
  if (recentKeys.size < MAX_CACHED_KEYS) {
    recentKeys.set(key.slice(keyPrefix.length, -keySuffix.length), key);
  }
  return key;
}

/** The subject in a dimension; null if the dimension's limits are excluded. */
export function subjectFor(
  policy: CompiledPolicy,
  dimension: string,
  subjects: Subjects,
): string | null {
  if (dimension === GLOBAL_DIMENSION) return globalSubject(subjects);
  if (isRecord(subjects)) {
    const subject = Object.hasOwn(subjects, dimension) ? subjects[dimension] : undefined;
    return subject === null ? null : checkSubject(dimension, subject);
  }
  const others = dimensionsOf(policy).filter(
    (other) => other !== GLOBAL_DIMENSION && other !== dimension,
  );
  if (others.length === 0) return checkSubject(dimension, subjects);
  throw invalidOption(
    `this limiter counts by ${[dimension, ...others].join(", ")}: name the subject of each, as in { ${dimension}: "..." }; got ${formatKind(subjects)}`,
  );
}

function globalSubject(subjects: Subjects): string | null {
  if (!isRecord(subjects) || !Object.hasOwn(subjects, GLOBAL_DIMENSION)) return GLOBAL_SUBJECT;
  const given = subjects[GLOBAL_DIMENSION];
  if (given === GLOBAL_SUBJECT || given === null) return given;
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `the subject of "${GLOBAL_DIMENSION}" must be "${GLOBAL_SUBJECT}", got ${formatKind(given)}`,
  );
}

function dimensionsOf(policy: CompiledPolicy): string[] {
  return policy.groups.map(({ dimension }) => dimension);
}

function checkSubject(dimension: string, subject: unknown): string {
  if (subject === undefined || subject === "") throw emptyKeyError(dimension, subject);
  if (typeof subject !== "string") {
    throw new HeadgateError(
      "HEADGATE_INVALID_KEY",
      `the subject of ${formatReceived(dimension)} must be a string, got ${formatKind(subject)}`,
    );
  }
  return subject;
}

function emptyKeyError(dimension: string, subject: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_EMPTY_KEY",
    `the subject of ${formatReceived(dimension)} must not be empty, got ${formatReceived(subject)}`,
  );
}

export function noSubjectError(policy: CompiledPolicy): HeadgateError {
  return new HeadgateError(
    "HEADGATE_EMPTY_KEY",
    `no dimension has a subject, so no limit would apply: give at least one of ${[...new Set(dimensionsOf(policy))].join(", ")} a subject other than null`,
  );
}

export function rejectUnknownDimensions(policy: CompiledPolicy, subjects: Subjects): void {
  if (!isRecord(subjects)) return;
  for (const dimension of Object.keys(subjects)) {
    if (policy.groups.some((group) => group.dimension === dimension)) continue;
    throw invalidOption(
      `no limit counts by ${formatReceived(dimension)}; this limiter counts by ${dimensionsOf(policy).join(", ")}`,
    );
  }
}
