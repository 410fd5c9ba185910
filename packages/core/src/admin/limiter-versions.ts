import { groupBy } from "../common/group-by.ts";
import type { Limit, Policy } from "../common/policy.ts";
import type { HttpUse, RegistryPolicy } from "../registry/record.ts";
import type { LimiterDefinition } from "./admin.ts";
import type { RegistryLimiter } from "./registry.ts";

/** A policy that processes have for a limiter, to look up and act on. */
export interface LimiterVersion {
  readonly limiter: LimiterDefinition & {
    readonly limits: readonly Limit[];
    readonly perCallPolicies: readonly Policy[];
  };
  /** The policies of other shapes that its calls pass, as in the registry. */
  readonly perCallPolicies: readonly RegistryPolicy[];
  readonly uses: readonly HttpUse[];
  /** The name of the limiter that it extends. */
  readonly extends?: string | undefined;
  /** Equal for limiters whose counters are the same. */
  readonly counterIdentity: string;
  /** Whether processes have several policies under its name. */
  readonly hasOtherVersions: boolean;
}

/**
 * The policies that processes have under a name, or under all names, without those that are too long to be listed. Records that
 * differ only in how the limiter is used are one.
 */
export function limiterVersionsOf(
  records: readonly RegistryLimiter[],
  name?: string,
): readonly LimiterVersion[] {
  const matching = records.filter(
    (one) => (name === undefined || one.name === name) && one.isTruncated !== true,
  );
  const known = groupBy(matching, (one) =>
    JSON.stringify([one.name, one.policy, one.shadow, one.extends ?? ""]),
  );
  return [...known.values()].map((same) => {
    const [first] = same as readonly [RegistryLimiter];
    const { limits, blockOn, shadow, shapes, hasOtherVersions } = first;
    const perCallPolicies = perCallPoliciesOf(same);
    const policies = perCallPolicies.map((other) => other.limits);
    return {
      limiter: { name: first.name, limits, perCallPolicies: policies, blockOn, shadow },
      perCallPolicies,
      uses: same.flatMap(({ uses }) => uses),
      extends: first.extends,
      counterIdentity: JSON.stringify(
        shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort(),
      ),
      hasOtherVersions,
    };
  });
}

/** The policies of other shapes in use, each shape once. */
function perCallPoliciesOf(same: readonly RegistryLimiter[]): readonly RegistryPolicy[] {
  const all = same.flatMap(({ perCallPolicies = [] }) => perCallPolicies);
  return [...new Map(all.map((one) => [JSON.stringify(one.shapes), one])).values()];
}

/** The dimensions by which limits count, each once. */
export function dimensionsOf(limits: readonly Pick<Limit, "per">[]): readonly string[] {
  return [...new Set(limits.map(({ per = "default" }) => per))];
}
