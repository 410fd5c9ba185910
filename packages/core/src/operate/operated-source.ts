import { HeadgateError } from "../errors.ts";
import { noAnswerWithin } from "../limiter/outage/store-watch.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { FoundText } from "../redis/read-texts.ts";
import { redisStore } from "../redis/redis-store.ts";
import type { Store } from "../store/store.ts";
import { within } from "../store/within.ts";
import type { Duration } from "../time.ts";
import { parseDuration, toMilliseconds } from "../time.ts";

/** Why a record says nothing: it makes no sense, or a version of Headgate wrote it that writes them in another way. */
export type Unreadable = "damaged" | "other-format";

/** A record that could not be read. */
export interface UnreadRecord {
  readonly key: string;
  /** `"missing"`: a process names it, and it is not there. */
  readonly why: Unreadable | "missing" | "wrong-type";
}

/** Where and for how long something is read. */
export interface SourceOptions {
  /** What every key begins with, beside a client. Default `"hg"`. */
  readonly prefix?: string | undefined;
  /** The longest that all of it may take. Default 5 s. */
  readonly timeout?: Duration | undefined;
}

/**
 * Reads something of a store in Redis, or of a client; `owner` is the function in the messages of errors. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, `HEADGATE_STORE_UNAVAILABLE`, and with what is read.
 */
export async function readFrom<T>(
  owner: string,
  source: Store | RedisClient,
  { prefix, timeout = "5s" }: SourceOptions,
  read: (store: Store) => Promise<T>,
): Promise<T> {
  const ms = toMilliseconds(parseDuration(timeout, "timeout", "HEADGATE_INVALID_OPTION"));
  return within(ms, read(storeOf(owner, source, prefix)), () => {
    throw noAnswerWithin(ms);
  });
}

/** What is found; undefined where there is nothing. */
export function readFound<T extends object>(
  { text, isWrongType }: FoundText,
  read: (text: string) => T | Unreadable,
): T | UnreadRecord["why"] | undefined {
  if (isWrongType) return "wrong-type";
  return text === undefined ? undefined : read(text);
}

function storeOf(owner: string, source: Store | RedisClient, prefix: string | undefined): Store {
  if (!isStore(source)) return redisStore(source, { prefix, directory: false });
  if (source.remote !== undefined && prefix === undefined) return source;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    source.remote === undefined
      ? `${owner}: memory of this process has nothing to read; it takes what redisStore returns, or a client of Redis`
      : `${owner}: a store has its prefix already; prefix is for a client`,
  );
}

function isStore(source: unknown): source is Store {
  const { owner, prefix, run } = (source ?? {}) as Partial<Store>;
  return owner !== undefined && typeof prefix === "string" && typeof run === "function";
}
