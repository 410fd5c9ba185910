import type { Limit, Policy } from "@headgate/core";
import type { Directory, DirectoryLimiter, HttpUse, OperatedLimiter } from "@headgate/core/operate";

/** A policy that processes have for a limiter, to look up and act on. */
export interface KnownLimiter {
  readonly limiter: OperatedLimiter & { readonly limits: readonly Limit[] };
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
    return {
      limiter: { name: own, limits, others: othersOf(same), blockOn, shadow },
      uses: same.flatMap(({ uses }) => uses),
      counters: JSON.stringify(shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort()),
    };
  });
}

/** The policies of other shapes in use, without duplicates. */
function othersOf(same: readonly DirectoryLimiter[]): readonly Policy[] {
  const all = same.flatMap(({ others = [] }) => others);
  const byShape = new Map(all.map(({ shapes, limits }) => [JSON.stringify(shapes), limits]));
  return [...byShape.values()];
}

/** The dimensions by which limits count. */
export function dimensionsOf(limits: readonly Pick<Limit, "per">[]): readonly string[] {
  return [...new Set(limits.map(({ per = "default" }) => per))];
}
