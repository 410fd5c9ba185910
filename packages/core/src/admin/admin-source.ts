import { invalidOption } from "../common/errors.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import { timeoutError } from "../health/store-monitor.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { StringValue } from "../redis/read-strings.ts";
import { readStrings } from "../redis/read-strings.ts";
import { redisStore } from "../redis/redis-store.ts";
import type { UnreadableReason } from "../registry/unreadable.ts";
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

/** Reads the records under some keys. */
type ReadRecords = <T extends object>(
  keys: readonly string[],
  read: (text: string, i: number) => T | UnreadableReason,
  absent?: "missing",
) => Promise<(T | undefined)[]>;

/**
 * Reads the record under each key, given its index; undefined if there is none, or if it cannot be read, in which case it is
 * added to `unreadable`. An absent key is not an error unless `absent` says why it is.
 */
export function createRecordReader(
  client: RedisClient,
  unreadable: UnreadableRecord[],
): ReadRecords {
  return async (keys, read, absent) => {
    const found = await readStrings(client, keys);
    return found.map((one, i) => {
      const value = parseFound(one, (text) => read(text, i)) ?? absent;
      if (typeof value !== "string") return value;
      unreadable.push({ key: one.key, reason: value });
      return undefined;
    });
  };
}

function parseFound<T extends object>(
  { text, isWrongType, isTooLong }: StringValue,
  read: (text: string) => T | UnreadableReason,
): T | UnreadableRecord["reason"] | undefined {
  if (isWrongType) return "wrong-type";
  if (isTooLong) return "too-long";
  return text === undefined ? undefined : read(text);
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
