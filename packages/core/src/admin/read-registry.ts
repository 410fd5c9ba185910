import { rejectUnknownOptions } from "../common/options.ts";
import type { RedisClient } from "../redis/client-port.ts";
import { processKey, registryKey, sharedRecordKey } from "../registry/operations.ts";
import type { IndexedProcess } from "../registry/parse-records.ts";
import { parseIndex, parseProcessRecord, parseSharedRecord } from "../registry/parse-records.ts";
import type {
  BreakerRecord,
  LimiterRecord,
  ProcessRecord,
  RegistryRecord,
} from "../registry/record.ts";
import { MAX_TARGETS } from "../registry/record.ts";
import type { CountingStore, Store } from "../store/store.ts";
import type { SourceOptions, UnreadableRecord } from "./admin-source.ts";
import { createRecordReader, readFrom } from "./admin-source.ts";

/** Options of `readRegistry`. */
export interface ReadRegistryOptions extends SourceOptions {}

/**
 * Lists the limiters and breakers, and the processes that have them, from a store in Redis or a Redis client. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_REDIS_CLIENT`, and with the store's errors.
 */
export async function readRegistry(
  source: Store | RedisClient,
  options: ReadRegistryOptions = {},
): Promise<Registry> {
  rejectUnknownOptions("readRegistry", options, ["prefix", "timeout"]);
  return readFrom("readRegistry", source, options, readRegistryOf);
}

/** The limiters and breakers of one prefix, and the processes that have them. */
export interface Registry {
  /** Ordered by name. A limiter that differs between processes has an entry for each version. */
  readonly limiters: readonly RegistryLimiter[];
  readonly breakers: readonly RegistryBreaker[];
  readonly processes: readonly RegistryProcess[];
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unreadable: readonly UnreadableRecord[];
}

/** A limiter, and the processes that have it. */
export interface RegistryLimiter extends LimiterRecord, Owned {}

/** A breaker, and the processes that have it. */
export interface RegistryBreaker extends BreakerRecord, Owned {
  /**
   * The targets that processes have called, sorted: at most 200, each of 1 to 100 characters. Missing if no process reports
   * them.
   */
  readonly targets?: readonly string[] | undefined;
  /** The least number of targets beyond those; missing if there are none. */
  readonly moreTargets?: number | undefined;
}

/** Something that processes have. */
interface Owned {
  /** The `id` of each of these processes. */
  readonly processes: readonly string[];
  /** Whether other processes have another policy under its name. */
  readonly hasOtherVersions: boolean;
}

/** A process that has limiters or breakers. */
export interface RegistryProcess {
  /** Random, and different in each process. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started: milliseconds since the epoch, by its own clock. */
  readonly startedAt: number;
  /** When it last reported to the registry: milliseconds since the epoch, by the server's clock, in whole seconds. */
  readonly seenAt: number;
  /** The version of Headgate that it runs. */
  readonly version: string;
  /** The random names that stand for it in the registry's keys, one for each of its Redis clients. */
  readonly names: readonly string[];
  /** How many more limiters and breakers it has than the 1,000 that are listed for a client and prefix. */
  readonly more: number;
  /** What other packages list of it, such as its load shedders. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Reads the registry of a store. Rejects with the store's errors. */
export async function readRegistryOf(store: CountingStore): Promise<Registry> {
  const { prefix } = store;
  const unreadable: UnreadableRecord[] = [];
  const read = createRecordReader(store, unreadable);
  const [seen = []] = await read.entries("zset", [registryKey(prefix)], parseIndex);
  const names = seen.map(({ name }) => processKey(prefix, name));
  const found = await read.strings(names, parseProcessRecord);
  const { processes, owners } = mergeProcesses(seen, found);
  const hashes = [...owners.keys()];
  const keys = hashes.map((hash) => sharedRecordKey(prefix, hash));
  const records = await read.strings(keys, parseSharedRecord, "missing");
  const targets = mergeTargets(found);
  const listed = hashes.map((hash, i) => ({
    record: records[i],
    processes: [...(owners.get(hash) ?? [])],
    targets: targets.get(hash),
  }));
  return { ...mergeRecords(listed), processes, unreadable };
}

/** The processes, and the ones that have each record, by hash. */
interface MergedProcesses {
  readonly processes: readonly RegistryProcess[];
  readonly owners: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Gathers the listed processes. One without a record is gone; one with several clients is listed for each, and is one process. */
function mergeProcesses(
  seen: readonly IndexedProcess[],
  records: readonly (ProcessRecord | undefined)[],
): MergedProcesses {
  const processes = new Map<string, RegistryProcess>();
  const owners = new Map<string, Set<string>>();
  for (const [i, record] of records.entries()) {
    if (record === undefined) continue;
    const { process: id, host, pid, startedAt, version, details } = record;
    const before = processes.get(id);
    const seenAt = Math.max(seen[i]?.seenAt ?? 0, before?.seenAt ?? 0);
    const more = record.more + (before?.more ?? 0);
    const names = [...(before?.names ?? []), seen[i]?.name ?? ""];
    processes.set(id, { id, host, pid, startedAt, seenAt, version, names, more, details });
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
function mergeRecords(listed: readonly FoundRecord[]): Pick<Registry, "limiters" | "breakers"> {
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

/** The targets of a breaker in all processes. */
type MergedTargets = Pick<RegistryBreaker, "targets" | "moreTargets">;

/** Gathers the targets that processes list, by the hash of the breaker's record. */
function mergeTargets(
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
