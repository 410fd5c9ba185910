import { MOST_TARGETS } from "../registry/listed-targets.ts";
import type { ProcessRecord } from "../registry/registry.ts";
import type { DirectoryBreaker } from "./registry.ts";

/** The targets of a breaker in all processes. */
export type GatheredTargets = Pick<DirectoryBreaker, "targets" | "moreTargets">;

/** Gathers the targets that processes list, by the hash of the breaker's record. */
export function gatherTargets(
  records: readonly (ProcessRecord | undefined)[],
): ReadonlyMap<string, GatheredTargets> {
  const known = new Map<string, { readonly names: Set<string>; most: number }>();
  for (const { record, names, more } of records.flatMap((one) => one?.targets ?? [])) {
    const breaker = known.get(record) ?? { names: new Set(), most: 0 };
    for (const name of names) breaker.names.add(name);
    // Processes may count the same targets, so the numbers cannot be added.
    breaker.most = Math.max(breaker.most, names.length + more);
    known.set(record, breaker);
  }
  return new Map([...known].map(([record, { names, most }]) => [record, firstOf(names, most)]));
}

function firstOf(names: ReadonlySet<string>, most: number): GatheredTargets {
  const targets = [...names].sort().slice(0, MOST_TARGETS);
  const moreTargets = Math.max(names.size, most) - targets.length;
  return moreTargets > 0 ? { targets, moreTargets } : { targets };
}
