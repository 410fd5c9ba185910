import type {
  BreakerRecord,
  LimiterRecord,
  ListedRecord,
  ProcessRecord,
} from "../fleet/directory/directory.ts";
import type { SeenProcess } from "../fleet/directory/read-records.ts";
import type {
  Directory,
  DirectoryBreaker,
  DirectoryLimiter,
  DirectoryProcess,
} from "./directory.ts";

/** The processes, and which of them have the record of a hash. */
interface Gathered {
  readonly processes: readonly DirectoryProcess[];
  readonly owners: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Gathers the processes that were seen. One without a record is gone; one with several clients was seen as often, and is one
 * process.
 */
export function gatherProcesses(
  seen: readonly SeenProcess[],
  records: readonly (ProcessRecord | undefined)[],
): Gathered {
  const processes = new Map<string, DirectoryProcess>();
  const owners = new Map<string, Set<string>>();
  for (const [i, record] of records.entries()) {
    if (record === undefined) continue;
    const { process: id, host, pid, startedAt, version } = record;
    const before = processes.get(id);
    const seenAt = Math.max(seen[i]?.seenAt ?? 0, before?.seenAt ?? 0);
    const more = record.more + (before?.more ?? 0);
    processes.set(id, { id, host, pid, startedAt, seenAt, version, more });
    for (const hash of record.records) owners.set(hash, (owners.get(hash) ?? new Set()).add(id));
  }
  return { processes: [...processes.values()], owners };
}

/** The limiters and breakers of some records, with their owners. */
export function gatherListed(
  records: readonly (ListedRecord | undefined)[],
  owners: readonly ReadonlySet<string>[],
): Pick<Directory, "limiters" | "breakers"> {
  const limiters: (LimiterRecord & Pick<DirectoryLimiter, "processes">)[] = [];
  const breakers: (BreakerRecord & Pick<DirectoryBreaker, "processes">)[] = [];
  for (const [i, record] of records.entries()) {
    const processes = [...(owners[i] ?? [])];
    if (record?.kind === "limiter") limiters.push({ ...record, processes });
    if (record?.kind === "breaker") breakers.push({ ...record, processes });
  }
  return { limiters: inOrder(limiters), breakers: inOrder(breakers) };
}

/** By name and policy, and told where a name has several. */
function inOrder<Listed extends ListedRecord>(
  listed: readonly Listed[],
): (Listed & { isMixed: boolean })[] {
  const policies = new Map<string, Set<string>>();
  for (const { name, policy } of listed) {
    policies.set(name, (policies.get(name) ?? new Set()).add(policy));
  }
  return listed
    .map((one) => ({ ...one, isMixed: (policies.get(one.name)?.size ?? 0) > 1 }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.policy, b.policy));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
