import { MAX_TARGETS } from "../registry/breaker-targets.ts";
import type { ProcessRecord } from "../registry/record.ts";
import type { RegistryBreaker } from "./registry.ts";

/** The targets of a breaker in all processes. */
export type MergedTargets = Pick<RegistryBreaker, "targets" | "moreTargets">;

/** Gathers the targets that processes list, by the hash of the breaker's record. */
export function mergeTargets(
  records: readonly (ProcessRecord | undefined)[],
): ReadonlyMap<string, MergedTargets> {
  const known = new Map<string, { readonly names: Set<string>; most: number }>();
  for (const { record, names, more } of records.flatMap((one) => one?.targets ?? [])) {
    const breaker = known.get(record) ?? { names: new Set(), most: 0 };
    for (const name of names) breaker.names.add(name);
    // Processes may count the same targets, so the numbers cannot be added.
    breaker.most = Math.max(breaker.most, names.length + more);
    known.set(record, breaker);
  }
  return new Map(
    [...known].map(([record, { names, most }]) => [record, limitTargets(names, most)]),
  );
}

function limitTargets(names: ReadonlySet<string>, most: number): MergedTargets {
  const targets = [...names].sort().slice(0, MAX_TARGETS);
  const moreTargets = Math.max(names.size, most) - targets.length;
  return moreTargets > 0 ? { targets, moreTargets } : { targets };
}
