import { groupBy } from "../common/group-by.ts";
import type { Limit, Policy } from "../common/policy.ts";
import type { HttpUse, ListedPolicy } from "../registry/registry.ts";
import type { OperatedLimiter } from "./operator.ts";
import type { DirectoryLimiter } from "./registry.ts";

/** A policy that processes have for a limiter, to look up and act on. */
export interface KnownLimiter {
  readonly limiter: OperatedLimiter & {
    readonly limits: readonly Limit[];
    readonly others: readonly Policy[];
  };
  /** The policies of other shapes that its calls pass, as in the directory. */
  readonly others: readonly ListedPolicy[];
  readonly uses: readonly HttpUse[];
  /** The name of the limiter that it extends. */
  readonly extends?: string | undefined;
  /** Equal for limiters whose counters are the same. */
  readonly counters: string;
  /** Whether processes have several policies under its name. */
  readonly isMixed: boolean;
}

/**
 * The policies that processes have under a name, or under all names, without those that are too long to be listed. Records that
 * differ only in how the limiter is used are one.
 */
export function knownLimiters(
  records: readonly DirectoryLimiter[],
  name?: string,
): readonly KnownLimiter[] {
  const meant = records.filter(
    (one) => (name === undefined || one.name === name) && one.isCut !== true,
  );
  const known = groupBy(meant, (one) =>
    JSON.stringify([one.name, one.policy, one.shadow, one.extends ?? ""]),
  );
  return [...known.values()].map((same) => {
    const [first] = same as readonly [DirectoryLimiter];
    const { limits, blockOn, shadow, shapes, isMixed } = first;
    const others = othersOf(same);
    const policies = others.map((other) => other.limits);
    return {
      limiter: { name: first.name, limits, others: policies, blockOn, shadow },
      others,
      uses: same.flatMap(({ uses }) => uses),
      extends: first.extends,
      counters: JSON.stringify(shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort()),
      isMixed,
    };
  });
}

/** The policies of other shapes in use, each shape once. */
function othersOf(same: readonly DirectoryLimiter[]): readonly ListedPolicy[] {
  const all = same.flatMap(({ others = [] }) => others);
  return [...new Map(all.map((one) => [JSON.stringify(one.shapes), one])).values()];
}

/** The dimensions by which limits count, each once. */
export function dimensionsOf(limits: readonly Pick<Limit, "per">[]): readonly string[] {
  return [...new Set(limits.map(({ per = "default" }) => per))];
}
