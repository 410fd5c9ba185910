import { rejectUnknownOptions } from "../common/options.ts";
import type { RedisClient } from "../redis/client-port.ts";
import { processKey, registryKey, sharedRecordKey } from "../registry/operations.ts";
import { parseIndex, parseProcessRecord, parseSharedRecord } from "../registry/parse-records.ts";
import type { CountingStore, Store } from "../store/store.ts";
import type { SourceOptions, UnreadableRecord } from "./admin-source.ts";
import { createRecordReader, readFrom } from "./admin-source.ts";
import { mergeProcesses, mergeRecords } from "./merge-registry.ts";
import { mergeTargets } from "./merge-targets.ts";
import type { Registry } from "./registry.ts";

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

/** Reads the registry of a store. Rejects with the store's errors. */
export async function readRegistryOf({ owner, prefix }: CountingStore): Promise<Registry> {
  const client = owner as RedisClient;
  const unreadable: UnreadableRecord[] = [];

  const readEach = createRecordReader(client, unreadable);

  const [seen = []] = await readEach([registryKey(prefix)], parseIndex);
  const names = seen.map(({ name }) => processKey(prefix, name));
  const found = await readEach(names, parseProcessRecord);
  const { processes, owners } = mergeProcesses(seen, found);
  const hashes = [...owners.keys()];
  const keys = hashes.map((hash) => sharedRecordKey(prefix, hash));
  const records = await readEach(keys, parseSharedRecord, "missing");
  const targets = mergeTargets(found);
  const listed = hashes.map((hash, i) => ({
    record: records[i],
    processes: [...(owners.get(hash) ?? [])],
    targets: targets.get(hash),
  }));
  return { ...mergeRecords(listed), processes, unreadable };
}
