import { codeOf, formatReceived, HeadgateError } from "../common/errors.ts";
import type { BlockOn, Limit } from "../common/policy.ts";
import { identityOf } from "../operations/counter.ts";
import type { CompiledPolicy, LimitGroup } from "./compiled-policy.ts";
import { compileLimiterPolicy } from "./compiled-policy.ts";
import type { SubjectCounter, Subjects } from "./counters.ts";
import { counterOf, noSubjectError, rejectUnknownDimensions, subjectFor } from "./counters.ts";

/**
 * Compiles a policy passed with a call whose shape differs from the limiter's `own`. It has counters of its own, except for groups
 * of limits that the limiter also has, and counts only by dimensions of the limiter. Throws `HEADGATE_INVALID_LIMIT`.
 */
export function compilePerCallPolicy(
  own: CompiledPolicy,
  policy: readonly Limit[],
  blockOn: BlockOn,
): CompiledPolicy {
  const { limiter, plugin } = own.labels;
  const how = { blockOn, shadow: own.shadow, plugin };
  const compiled = asLimitError(() => compileLimiterPolicy(limiter, policy, own.store, how));
  const known = new Set(own.groups.map(({ dimension }) => dimension));
  for (const { dimension } of compiled.groups) {
    if (known.has(dimension)) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      `limits given for a call must count by a dimension of the limiter's own: ${[...known].join(", ")}; got ${formatReceived(dimension)}`,
    );
  }
  const { keyspace } = compiled;
  return { ...compiled, keyspace: own.keyspace, perCallKeyspace: keyspace };
}

/** Turns the error of a limit that cannot block as the limiter does into an error of the limit, not of an option. */
function asLimitError<T>(compile: () => T): T {
  try {
    return compile();
  } catch (error) {
    if (codeOf(error) !== "HEADGATE_INVALID_OPTION") throw error;
    throw new HeadgateError("HEADGATE_INVALID_LIMIT", (error as Error).message);
  }
}

/**
 * The policy with the key cache of an earlier policy of its shape, so that a shape caches no more keys than a limiter, however many
 * sets of numbers are in use.
 */
export function shareKeyCache(policy: CompiledPolicy, earlier: CompiledPolicy): CompiledPolicy {
  const groups = policy.groups.map((group) => {
    const same = earlier.groups.find(({ keySuffix }) => keySuffix === group.keySuffix);
    return same === undefined ? group : { ...group, recentKeys: same.recentKeys };
  });
  return { ...policy, groups };
}

/**
 * The counters of a policy passed with a call, in the dimensions of the limiter's `requestedGroups` that the policy uses. Throws the
 * errors of `countersOf`.
 */
export function countersOfPerCallPolicy(
  policy: CompiledPolicy,
  own: CompiledPolicy,
  subjects: Subjects,
  requestedGroups: readonly LimitGroup[] = own.groups,
): SubjectCounter[] {
  rejectUnknownDimensions(own, subjects);
  const groups = policy.groups.filter(({ limiter, dimension }) =>
    requestedGroups.some((group) => group.limiter === limiter && group.dimension === dimension),
  );
  const counters = groups.flatMap((group) => {
    const subject = subjectFor(own, group.dimension, subjects);
    return subject === null ? [] : [counterOf(group, subject)];
  });
  if (counters.length === 0) throw noSubjectError(policy);
  return counters;
}

/** The counters of a subject under one policy. */
export interface PolicyCounters {
  readonly policy: CompiledPolicy;
  readonly counters: readonly SubjectCounter[];
}

/** The counters of the same subject under other policies of its limiter, without duplicates. */
export function countersOfOtherPolicies(
  own: PolicyCounters,
  others: readonly CompiledPolicy[],
): readonly PolicyCounters[] {
  const known = new Set(own.counters.map(identityOf));
  return others.flatMap((policy) => {
    const counters = sameSubjectCounters(policy, own.counters).filter(
      (counter) => !known.has(identityOf(counter)),
    );
    for (const counter of counters) known.add(identityOf(counter));
    return counters.length === 0 ? [] : [{ policy, counters }];
  });
}

/** The counters of the same subjects under another policy of their limiter, in the dimensions that both use. */
function sameSubjectCounters(
  { groups }: CompiledPolicy,
  counters: readonly SubjectCounter[],
): SubjectCounter[] {
  return groups.flatMap((group) => {
    const same = counters.find(
      (one) => one.group.limiter === group.limiter && one.group.dimension === group.dimension,
    );
    return same === undefined ? [] : [counterOf(group, same.subject)];
  });
}
