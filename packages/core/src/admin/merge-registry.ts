import type { IndexedProcess } from "../registry/parse-records.ts";
import type {
  BreakerRecord,
  LimiterRecord,
  ProcessRecord,
  RegistryRecord,
} from "../registry/record.ts";
import type { MergedTargets } from "./merge-targets.ts";
import type { Registry, RegistryBreaker, RegistryLimiter, RegistryProcess } from "./registry.ts";

/** The processes, and the ones that have each record, by hash. */
interface MergedProcesses {
  readonly processes: readonly RegistryProcess[];
  readonly owners: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Gathers the listed processes. One without a record is gone; one with several clients is listed for each, and is one process. */
export function mergeProcesses(
  seen: readonly IndexedProcess[],
  records: readonly (ProcessRecord | undefined)[],
): MergedProcesses {
  const processes = new Map<string, RegistryProcess>();
  const owners = new Map<string, Set<string>>();
  for (const [i, record] of records.entries()) {
    if (record === undefined) continue;
    const { process: id, host, pid, startedAt, version } = record;
    const before = processes.get(id);
    const seenAt = Math.max(seen[i]?.seenAt ?? 0, before?.seenAt ?? 0);
    const more = record.more + (before?.more ?? 0);
    const names = [...(before?.names ?? []), seen[i]?.name ?? ""];
    processes.set(id, { id, host, pid, startedAt, seenAt, version, names, more });
    for (const hash of record.records) owners.set(hash, (owners.get(hash) ?? new Set()).add(id));
  }
  return { processes: [...processes.values()], owners };
}

/** A record that processes have; undefined if it could not be read. */
interface FoundRecord {
  readonly record: RegistryRecord | undefined;
  /** The `id` of each. */
  readonly processes: readonly string[];
  /** Undefined if no process names any. */
  readonly targets: MergedTargets | undefined;
}

/** The limiters and breakers of some records. */
export function mergeRecords(
  listed: readonly FoundRecord[],
): Pick<Registry, "limiters" | "breakers"> {
  const limiters: (LimiterRecord & Pick<RegistryLimiter, "processes">)[] = [];
  const breakers: (BreakerRecord & Pick<RegistryBreaker, "processes"> & MergedTargets)[] = [];
  for (const { record, processes, targets } of mergeSameLimiters(listed)) {
    if (record?.kind === "limiter") limiters.push({ ...record, processes });
    if (record?.kind === "breaker") breakers.push({ ...record, ...targets, processes });
  }
  return { limiters: sortByName(limiters), breakers: sortByName(breakers) };
}

/** Merges records of limiters that differ only in the policies of other shapes in use. */
function mergeSameLimiters(listed: readonly FoundRecord[]): readonly FoundRecord[] {
  const found = new Map<string, FoundRecord>();
  for (const [i, one] of listed.entries()) {
    const { record, processes } = one;
    const id = record?.kind === "limiter" ? formatWithoutPerCallPolicies(record) : String(i);
    const before = found.get(id);
    if (before?.record?.kind !== "limiter" || record?.kind !== "limiter") {
      found.set(id, one);
      continue;
    }
    found.set(id, {
      ...before,
      record: mergePerCallPolicies(before.record, record),
      processes: [...new Set([...before.processes, ...processes])],
    });
  }
  return [...found.values()];
}

function formatWithoutPerCallPolicies({
  perCallPolicies,
  morePerCallPolicies,
  ...record
}: LimiterRecord): string {
  return JSON.stringify(record);
}

function mergePerCallPolicies(one: LimiterRecord, other: LimiterRecord): LimiterRecord {
  const all = [...(one.perCallPolicies ?? []), ...(other.perCallPolicies ?? [])];
  const others = new Map(all.map((policy) => [JSON.stringify(policy.shapes), policy]));
  const more = Math.max(one.morePerCallPolicies ?? 0, other.morePerCallPolicies ?? 0);
  return {
    ...one,
    ...(others.size > 0 ? { perCallPolicies: [...others.values()] } : {}),
    ...(more > 0 ? { morePerCallPolicies: more } : {}),
  };
}

/** Orders by name and policy, and marks names that have several policies. */
function sortByName<Listed extends RegistryRecord>(
  listed: readonly Listed[],
): (Listed & { hasOtherVersions: boolean })[] {
  const policies = new Map<string, Set<string>>();
  for (const { name, policy } of listed) {
    policies.set(name, (policies.get(name) ?? new Set()).add(policy));
  }
  return listed
    .map((one) => ({ ...one, hasOtherVersions: (policies.get(one.name)?.size ?? 0) > 1 }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.policy, b.policy));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
