import { rejectUnknownOptions } from "../common/options.ts";
import type { RedisClient } from "../redis/client-port.ts";
import { readIndex, readListedRecord, readProcessRecord } from "../registry/read-records.ts";
import { directoryKey, processKey, sharedKey } from "../registry/step.ts";
import type { CountingStore, Store } from "../store/store.ts";
import type { SourceOptions, UnreadRecord } from "./admin-source.ts";
import { eachReader, readFrom } from "./admin-source.ts";
import { gatherListed, gatherProcesses } from "./gather-registry.ts";
import { gatherTargets } from "./gather-targets.ts";
import type { Directory } from "./registry.ts";

/** Options of `readDirectory`. */
export interface ReadDirectoryOptions extends SourceOptions {}

/**
 * Lists the limiters and breakers, and the processes that have them, from a store in Redis or a Redis client. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, and with the store's errors.
 */
export async function readDirectory(
  source: Store | RedisClient,
  options: ReadDirectoryOptions = {},
): Promise<Directory> {
  rejectUnknownOptions("readDirectory", options, ["prefix", "timeout"]);
  return readFrom("readDirectory", source, options, readDirectoryOf);
}

/** Reads the directory of a store. Rejects with the store's errors. */
export async function readDirectoryOf({ owner, prefix }: CountingStore): Promise<Directory> {
  const client = owner as RedisClient;
  const unread: UnreadRecord[] = [];

  const readEach = eachReader(client, unread);

  const [seen = []] = await readEach([directoryKey(prefix)], readIndex);
  const names = seen.map(({ name }) => processKey(prefix, name));
  const found = await readEach(names, readProcessRecord);
  const { processes, owners } = gatherProcesses(seen, found);
  const hashes = [...owners.keys()];
  const keys = hashes.map((hash) => sharedKey(prefix, hash));
  const records = await readEach(keys, readListedRecord, "missing");
  const targets = gatherTargets(found);
  const listed = hashes.map((hash, i) => ({
    record: records[i],
    processes: [...(owners.get(hash) ?? [])],
    targets: targets.get(hash),
  }));
  return { ...gatherListed(listed), processes, unread };
}
