import type { Limit } from "@headgate/core";
import type {
  Directory,
  DirectoryLimiter,
  HttpUse,
  ListedPolicy,
  OperatedLimiter,
} from "@headgate/core/operate";

/** A policy that processes have for a limiter, to look up and act on. */
export interface KnownLimiter {
  readonly limiter: OperatedLimiter & { readonly limits: readonly Limit[] };
  /** The policies of other shapes that requests bring, as in the directory. */
  readonly others: readonly ListedPolicy[];
  readonly uses: readonly HttpUse[];
  /** Equal if the counters are the same. */
  readonly counters: string;
}

/** The policies that processes have under a name, or under all names, without those that are too long to be listed. */
export function knownLimiters({ limiters }: Directory, name?: string): readonly KnownLimiter[] {
  const known = new Map<string, DirectoryLimiter[]>();
  for (const record of limiters) {
    if ((name !== undefined && record.name !== name) || record.isCut === true) continue;
    // Records that differ only in how the limiter is used belong to one limiter.
    const id = JSON.stringify([record.name, record.policy, record.shadow]);
    known.set(id, [...(known.get(id) ?? []), record]);
  }
  return [...known.values()].map((same) => {
    const [{ name: own, limits, blockOn, shadow, shapes }] = same as [DirectoryLimiter];
    const others = othersOf(same);
    const policies = others.map((other) => other.limits);
    return {
      limiter: { name: own, limits, others: policies, blockOn, shadow },
      others,
      uses: same.flatMap(({ uses }) => uses),
      counters: JSON.stringify(shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort()),
    };
  });
}

/** The policies of other shapes in use, each shape once. */
function othersOf(same: readonly DirectoryLimiter[]): readonly ListedPolicy[] {
  const all = same.flatMap(({ others = [] }) => others);
  return [...new Map(all.map((one) => [JSON.stringify(one.shapes), one])).values()];
}

/** The limits of a listed policy by their names: shapes have the names, including the default ones. */
export function namedLimits({
  limits,
  shapes,
}: ListedPolicy): readonly (readonly [name: string, limit: Limit])[] {
  const names = new Map(shapes.map(({ per, limits: own }) => [per, [...own]]));
  return limits.map((limit) => {
    const listed = names.get(limit.per ?? "default")?.shift();
    return [limit.name ?? listed ?? "", limit];
  });
}

/** The dimensions by which limits count. */
export function dimensionsOf(limits: readonly Pick<Limit, "per">[]): readonly string[] {
  return [...new Set(limits.map(({ per = "default" }) => per))];
}
