import { invalidOption } from "../common/errors.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import { timeoutError } from "../health/store-monitor.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Entries, StoredValue } from "../redis/read-values.ts";
import { readEntries, readStrings } from "../redis/read-values.ts";
import { redisStore } from "../redis/redis-store.ts";
import type { UnreadableReason } from "../registry/parse-records.ts";
import type { CountingStore, Store } from "../store/store.ts";
import { isStore, requireStore } from "../store/store.ts";
import { withTimeout } from "../store/with-timeout.ts";

/** A record that could not be read. */
export interface UnreadableRecord {
  readonly key: string;
  /** `"missing"`: a process names it, but it does not exist. `"too-long"`: longer than any version writes it. */
  readonly reason: UnreadableReason | "missing" | "wrong-type" | "too-long";
}

/** Where to read, and for how long. */
export interface SourceOptions {
  /** The prefix of all keys; only with a client. Default `"hg"`. */
  readonly prefix?: string | undefined;
  /** The longest that reading may take, in total: 1 ms to 1 minute. Default 5 s. */
  readonly timeout?: Duration | undefined;
}

/**
 * Reads from a store in Redis, or from a client; `owner` is the function's name for error messages. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_REDIS_CLIENT`, `HEADGATE_STORE_UNAVAILABLE`, and with the errors of `read`.
 */
export async function readFrom<T>(
  owner: string,
  source: Store | RedisClient,
  { prefix, timeout = "5s" }: SourceOptions,
  read: (store: CountingStore) => Promise<T>,
): Promise<T> {
  const ms = toMilliseconds(parseDuration(timeout, "timeout", "HEADGATE_INVALID_OPTION"));
  return withTimeout(ms, read(storeOf(owner, source, prefix)), () => {
    throw timeoutError(ms);
  });
}

/** Reads the values under keys, each undefined if there is none, or if it cannot be read. */
interface RecordReader {
  /** Reads strings. An absent key is not an error unless `absent` says why it is. */
  strings<T extends object>(
    keys: readonly string[],
    parse: (text: string) => T | UnreadableReason,
    absent?: "missing",
  ): Promise<(T | undefined)[]>;
  entries<T extends object>(
    type: "hash" | "zset",
    keys: readonly string[],
    parse: (entries: Entries) => T | UnreadableReason,
  ): Promise<(T | undefined)[]>;
}

/** Reads what processes share on a store in Redis. Values that cannot be read are added to `unreadable`. */
export function createRecordReader(
  { owner }: CountingStore,
  unreadable: UnreadableRecord[],
): RecordReader {
  const client = owner as RedisClient;
  return {
    async strings(keys, parse, absent) {
      const found = await readStrings(client, keys);
      return found.map((one) => parseFound(one, parse, unreadable, absent));
    },
    async entries(type, keys, parse) {
      const found = await readEntries(client, type, keys);
      return found.map((one) => parseFound(one, parse, unreadable));
    },
  };
}

function parseFound<V, T extends object>(
  { key, value, problem }: StoredValue<V>,
  parse: (value: V) => T | UnreadableReason,
  unreadable: UnreadableRecord[],
  absent?: "missing",
): T | undefined {
  const parsed = problem ?? (value === undefined ? absent : parse(value));
  if (typeof parsed !== "string") return parsed;
  unreadable.push({ key, reason: parsed });
  return undefined;
}

function storeOf(
  owner: string,
  source: Store | RedisClient,
  prefix: string | undefined,
): CountingStore {
  if (!isStore(source)) {
    return requireStore(redisStore(source as RedisClient, { prefix, registry: false }));
  }
  if (source.transport !== undefined && prefix === undefined) return source;
  throw invalidOption(
    source.transport === undefined
      ? `${owner}: a memory store cannot be used here, because no other process can read it; give what redisStore returns, or a Redis client`
      : `${owner}: prefix is for a client, because a store already has one; leave it out`,
  );
}
