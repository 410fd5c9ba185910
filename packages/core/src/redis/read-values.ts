import { readInteger } from "../operations/list-script.ts";
import { valuesLua } from "../operations/lua.generated.ts";
import type { RedisClient } from "./client-port.ts";
import { fromClient } from "./client-port.ts";
import { createScriptRetry } from "./script-retry.ts";
import { toStoreError } from "./store-error.ts";
import { topologyOf } from "./topology.ts";

/** The value of a key. */
export interface StoredValue<T> {
  readonly key: string;
  /** Undefined if the key does not exist, or if it cannot be read. */
  readonly value: T | undefined;
  /** Why it cannot be read. */
  readonly problem: "wrong-type" | "too-long" | undefined;
}

/** The fields and values of a hash, or the members and scores of a sorted set from the least score on. */
export type Entries = readonly (readonly [name: string, value: string])[];

/** The longest string that is read, in bytes: longer than a process with 1,000 limiters. */
const MAX_STRING_BYTES = 524_288;

/**
 * The most bytes of a hash or a sorted set that are read, as JSON: more than an index of 500 limiters, whose names have up to 512
 * characters of up to six bytes, or of 10,000 processes.
 */
const MAX_ENTRIES_BYTES = 2_097_152;

/** The most entries of a hash or a sorted set that are read: the processes of an index. */
const MAX_ENTRIES = 10_000;

/** After a script has returned more bytes than this, all further values count as too long. */
const MAX_TOTAL_BYTES = 134_217_728;

/** The most keys that one script reads: full ones keep Redis busy for some milliseconds. */
const KEYS_PER_SCRIPT = 128;

/** The states of a key whose value a script does not return: integers in its place. */
const PROBLEMS: ReadonlyMap<number, StoredValue<unknown>["problem"]> = new Map([
  [-1, "wrong-type"],
  [-2, "too-long"],
]);

/** For each type the command for the size of a value, the largest size and the most bytes that are read, and the command to read it. */
const COMMANDS = {
  string: ["STRLEN", MAX_STRING_BYTES, MAX_STRING_BYTES, "GET"],
  hash: ["HLEN", MAX_ENTRIES, MAX_ENTRIES_BYTES, "HGETALL"],
  zset: ["ZCARD", MAX_ENTRIES, MAX_ENTRIES_BYTES, "ZRANGE", 0, -1, "WITHSCORES"],
} as const;

/** Reads strings, all in one hash slot. Rejects like a store. */
export function readStrings(
  client: RedisClient,
  keys: readonly string[],
): Promise<readonly StoredValue<string>[]> {
  return readEach(client, "string", keys, (text) => text);
}

/** Reads hashes or sorted sets, all in one hash slot. Rejects like a store. */
export function readEntries(
  client: RedisClient,
  type: "hash" | "zset",
  keys: readonly string[],
): Promise<readonly StoredValue<Entries>[]> {
  return readEach(client, type, keys, (text) => {
    const list = JSON.parse(text) as readonly string[];
    const entries: [name: string, value: string][] = [];
    for (let at = 0; at < list.length; at += 2) {
      entries.push([list[at] as string, list[at + 1] as string]);
    }
    return entries;
  });
}

async function readEach<T extends string | Entries>(
  client: RedisClient,
  type: keyof typeof COMMANDS,
  keys: readonly string[],
  parse: (text: string) => T,
): Promise<readonly StoredValue<T>[]> {
  const port = fromClient(client);
  const retry = createScriptRetry(port);
  const { nodeOf, followsCluster } = topologyOf(client);
  const args = COMMANDS[type].map(String);
  const found: StoredValue<T>[] = [];
  let bytesLeft = MAX_TOTAL_BYTES;
  try {
    for (let at = 0; at < keys.length; at += KEYS_PER_SCRIPT) {
      const batch = keys.slice(at, at + KEYS_PER_SCRIPT);
      if (bytesLeft < 0) {
        found.push(
          ...batch.map((key) => ({ key, value: undefined, problem: "too-long" as const })),
        );
        continue;
      }
      const replies = (await port
        .evalshaBuffer(valuesLua.sha1, batch.length, ...batch, ...args)
        .catch((error) =>
          retry(error, { script: valuesLua, keys: batch, args, node: nodeOf(batch[0] as string) }),
        )) as readonly unknown[];
      for (const [i, key] of batch.entries()) {
        const reply = replies[i];
        if (Buffer.isBuffer(reply)) {
          found.push({ key, value: parse(reply.toString()), problem: undefined });
          bytesLeft -= reply.length;
        } else {
          // A client may be configured to return numbers as strings.
          const problem = PROBLEMS.get(readInteger(reply));
          found.push({ key, value: undefined, problem });
        }
      }
    }
  } catch (error) {
    throw toStoreError(error, followsCluster);
  }
  return found;
}
