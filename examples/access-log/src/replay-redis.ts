import { randomBytes } from "node:crypto";
import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { Failure, messageOf } from "./failure.ts";

/** A store for one replay, on the log's clock. */
export interface ReplayStore {
  readonly store: Store;
  /** Leaves nothing behind, or warns of what it had to leave. */
  close(): Promise<void>;
}

const PATIENCE_MS = 5_000;

/**
 * Opens a store on Redis under a prefix that no other run has; `close` deletes its keys. Throws a `Failure` that never
 * holds the URL's user or password.
 */
export async function openRedis(
  url: string,
  clock: () => number,
  warn: (message: string) => void,
): Promise<ReplayStore> {
  const place = describeRedis(url);
  const prefix = `hg-start-${randomBytes(6).toString("hex")}`;
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    // A replay cannot go on after a gap, so it does not wait for Redis to come back.
    retryStrategy: () => null,
  });
  let lastError: Error | undefined;
  client.on("error", (error) => {
    lastError = error;
  });
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    client.disconnect();
    throw new Failure(`cannot reach Redis at ${place}: ${messageOf(lastError ?? error)}`, 1, {
      cause: error,
    });
  }
  return {
    // A replay limits nobody: it is not for operators to see.
    store: redisStore(client, { prefix, clock, directory: false }),
    async close() {
      try {
        await deleteKeys(client, `${prefix}:*`);
      } catch (error) {
        warn(
          `the keys ${prefix}:* could not be deleted from Redis at ${place} and will expire by themselves: ${messageOf(error)}`,
        );
      } finally {
        client.disconnect();
      }
    },
  };
}

async function deleteKeys(client: Redis, pattern: string): Promise<void> {
  let cursor = "0";
  do {
    const [next, keys] = await client.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
    if (keys.length > 0) await client.unlink(...keys);
    cursor = next;
  } while (cursor !== "0");
}

/** Where Redis is, without user and password: `redis://host:port/database`, or the path of a socket. */
export function describeRedis(url: string): string {
  if (url.startsWith("/")) return url.replace(/\?.*/, "");
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^rediss?:$/.test(parsed.protocol) || parsed.host === "") {
    throw new Failure(
      "--redis (or REDIS_URL) must be a URL like redis://127.0.0.1:6379, or the path of a socket",
    );
  }
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
