import { memoryStore } from "@headgate/core";
import type { ReplayStore } from "./replay-redis.ts";
import { openRedis } from "./replay-redis.ts";

export interface ReplayStoreOptions {
  readonly redisUrl: string | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** How many subjects there will be at most. */
  readonly subjects: number;
  readonly warn: (message: string) => void;
}

const DEFAULT_MAX_KEYS = 100_000;
const LARGEST_MAX_KEYS = 2 ** 24;

/** Opens Redis where a URL is given, else counts in this process. Throws a `Failure` when Redis cannot be reached. */
export async function openStore({
  redisUrl,
  clock,
  subjects,
  warn,
}: ReplayStoreOptions): Promise<ReplayStore> {
  if (redisUrl !== undefined) return openRedis(redisUrl, clock, warn);
  // Redis keeps every subject, so memory must as well, or the counts would differ.
  const maxKeys = Math.min(Math.max(subjects, DEFAULT_MAX_KEYS), LARGEST_MAX_KEYS);
  return { store: memoryStore({ clock, maxKeys }), close: async () => {} };
}
