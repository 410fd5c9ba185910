import { HeadgateError } from "../errors.ts";
import { noAnswerWithin } from "../limiter/outage/store-watch.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { FoundText } from "../redis/read-texts.ts";
import { readTexts } from "../redis/read-texts.ts";
import { redisStore } from "../redis/redis-store.ts";
import { directoryKey, processKey, sharedKey } from "../store/directory.ts";
import type { Store } from "../store/store.ts";
import { within } from "../store/within.ts";
import type { Duration } from "../time.ts";
import { parseDuration, toMilliseconds } from "../time.ts";
import type { Directory, UnreadRecord } from "./directory.ts";
import { readIndex } from "./directory-index.ts";
import type { Unreadable } from "./directory-records.ts";
import { readListedRecord, readProcessRecord } from "./directory-records.ts";
import { gatherListed, gatherProcesses } from "./gather-directory.ts";

export interface ReadDirectoryOptions {
  /** What every key begins with, beside a client. Default `"hg"`. */
  readonly prefix?: string | undefined;
  /** The longest that all of it may take. Default 5 s. */
  readonly timeout?: Duration | undefined;
}

/**
 * Reads which limiters and breakers there are, and in which processes: of a store in Redis, or of a client. Throws or rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, and as the store does.
 */
export async function readDirectory(
  source: Store | RedisClient,
  options: ReadDirectoryOptions = {},
): Promise<Directory> {
  rejectUnknownOptions("readDirectory", options, ["prefix", "timeout"]);
  const { timeout = "5s" } = options;
  const ms = toMilliseconds(parseDuration(timeout, "timeout", "HEADGATE_INVALID_OPTION"));
  const { owner, prefix } = storeOf(source, options.prefix);
  return within(ms, readAll(owner as RedisClient, prefix), () => {
    throw noAnswerWithin(ms);
  });
}

function storeOf(source: Store | RedisClient, prefix: string | undefined): Store {
  if (!isStore(source)) return redisStore(source, { prefix, directory: false });
  if (source.remote !== undefined && prefix === undefined) return source;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    source.remote === undefined
      ? "readDirectory: memory of this process has no directory; it takes what redisStore returns, or a client of Redis"
      : "readDirectory: a store has its prefix already; prefix is for a client",
  );
}

function isStore(source: unknown): source is Store {
  const { owner, prefix, run } = (source ?? {}) as Partial<Store>;
  return owner !== undefined && typeof prefix === "string" && typeof run === "function";
}

async function readAll(client: RedisClient, prefix: string): Promise<Directory> {
  const unread: UnreadRecord[] = [];

  /** Reads what is under each key; undefined where it cannot be read. A key that is absent may be so, unless `absent` says what it is. */
  async function readEach<T extends object>(
    keys: readonly string[],
    read: (text: string) => T | Unreadable,
    absent?: "missing",
  ): Promise<(T | undefined)[]> {
    const found = await readTexts(client, keys);
    return found.map((one) => {
      const value = readFound(one, read) ?? absent;
      if (typeof value !== "string") return value;
      unread.push({ key: one.key, why: value });
      return undefined;
    });
  }

  const [seen = []] = await readEach([directoryKey(prefix)], readIndex);
  const names = seen.map(({ name }) => processKey(prefix, name));
  const { processes, owners } = gatherProcesses(seen, await readEach(names, readProcessRecord));
  const hashes = [...owners.keys()];
  const keys = hashes.map((hash) => sharedKey(prefix, hash));
  const records = await readEach(keys, readListedRecord, "missing");
  return { ...gatherListed(records, [...owners.values()]), processes, unread };
}

/** What is found; undefined where there is nothing. */
function readFound<T extends object>(
  { text, isWrongType }: FoundText,
  read: (text: string) => T | Unreadable,
): T | UnreadRecord["why"] | undefined {
  if (isWrongType) return "wrong-type";
  return text === undefined ? undefined : read(text);
}
