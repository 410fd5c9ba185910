import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { Failure } from "./failure.ts";

/** How long to wait for the connection, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;

/** The Redis of a replay, under a prefix that no other one uses. */
export interface ReplayRedis {
  createStore(clock: () => number): Store;
  /** Deletes the keys of the replay, or reports that they remain. */
  close(): Promise<void>;
}

/** Connects to the server of a `redis://` or `rediss://` URL or the path of a socket. Rejects with a `Failure`, without a password. */
export async function openRedis(url: string, stderr: NodeJS.WritableStream): Promise<ReplayRedis> {
  if (!/^(?:rediss?:\/\/|\/)/.test(url)) {
    throw new Failure("--redis must be a redis:// or rediss:// URL, or the path of a socket");
  }
  // A replay cannot continue after an outage, so it does not reconnect.
  const client = new Redis(url, { retryStrategy: () => null });
  const { host, port, path } = client.options;
  try {
    await once(client, "ready", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
  } catch (error) {
    client.disconnect();
    const at = path ?? `${host}:${port}`;
    throw new Failure(`cannot use Redis at ${at}: ${(error as Error).message}`, 1, {
      cause: error,
    });
  }
  // Each command that fails says so itself.
  client.on("error", () => {});
  const prefix = `hg-replay-${randomBytes(4).toString("hex")}`;
  return {
    // A replay denies no real client, so it is not in the registry.
    createStore: (clock) => redisStore(client, { prefix, clock, registry: false }),
    async close() {
      try {
        for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
          if (keys.length > 0) await client.unlink(keys);
        }
      } catch (error) {
        const { message } = error as Error;
        stderr.write(
          `start: the keys ${prefix}:* could not be deleted from Redis, but expire by themselves: ${message}\n`,
        );
      } finally {
        client.disconnect();
      }
    },
  };
}
