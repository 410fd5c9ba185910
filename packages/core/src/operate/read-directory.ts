import { rejectUnknownOptions } from "../base/options.ts";
import { readIndex, readListedRecord, readProcessRecord } from "../fleet/directory/read-records.ts";
import { directoryKey, processKey, sharedKey } from "../fleet/directory/step.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Store } from "../store/store.ts";
import type { Directory } from "./directory.ts";
import { gatherListed, gatherProcesses } from "./gather-directory.ts";
import type { SourceOptions, UnreadRecord } from "./operated-source.ts";
import { eachReader, readFrom } from "./operated-source.ts";

/** Options of `readDirectory`. */
export interface ReadDirectoryOptions extends SourceOptions {}

/**
 * Reads which limiters and breakers there are, and in which processes, from a store in Redis or a Redis client. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, and with the store's errors.
 */
export async function readDirectory(
  source: Store | RedisClient,
  options: ReadDirectoryOptions = {},
): Promise<Directory> {
  rejectUnknownOptions("readDirectory", options, ["prefix", "timeout"]);
  return readFrom("readDirectory", source, options, ({ owner, prefix }) =>
    readAll(owner as RedisClient, prefix),
  );
}

async function readAll(client: RedisClient, prefix: string): Promise<Directory> {
  const unread: UnreadRecord[] = [];

  const readEach = eachReader(client, unread);

  const [seen = []] = await readEach([directoryKey(prefix)], readIndex);
  const names = seen.map(({ name }) => processKey(prefix, name));
  const { processes, owners } = gatherProcesses(seen, await readEach(names, readProcessRecord));
  const hashes = [...owners.keys()];
  const keys = hashes.map((hash) => sharedKey(prefix, hash));
  const records = await readEach(keys, readListedRecord, "missing");
  return { ...gatherListed(records, [...owners.values()]), processes, unread };
}
