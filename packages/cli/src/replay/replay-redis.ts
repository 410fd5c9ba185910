import { randomBytes } from "node:crypto";
import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, messageOf } from "../command/command-error.ts";
import type { Connection, ConnectionOptions } from "../connect/connection.ts";
import { connect } from "../connect/connection.ts";
import type { NodeClient } from "../connect/node-clients.ts";
import { isCluster } from "../connect/node-clients.ts";

/** Where a replay counts in Redis, on the log's clock. */
export interface ReplayRedis {
  readonly store: Store;
  /** The longest wait for each answer: milliseconds. */
  readonly timeoutMs: number;
  /** Deletes its keys, or warns that they stay. */
  close(): Promise<void>;
}

export interface ReplayRedisOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly warn: (message: string) => void;
  readonly context: CommandContext;
}

/** With what is put behind it, a prefix is as long as a store takes. */
const MAX_PREFIX = 16;

/** Opens Redis, there a prefix that no other replay has; `close` deletes its keys. Rejects with a `CommandError`. */
export async function openReplayRedis(
  options: ConnectionOptions,
  { clock, warn, context }: ReplayRedisOptions,
): Promise<ReplayRedis> {
  if ((options.prefix ?? "").length > MAX_PREFIX) {
    throw new CommandError(`a replay takes a --prefix of at most ${MAX_PREFIX} characters`);
  }
  const { client, displayUrl, timeoutMs, ...connection } = await connectUninterrupted(
    options,
    context,
  );
  // A replay cannot go on after a gap, so it does not wait for Redis to come back.
  if (isCluster(client)) client.options.clusterRetryStrategy = () => null;
  else client.options.retryStrategy = () => null;
  const prefix = `${connection.prefix}-replay-${randomBytes(4).toString("hex")}`;
  return {
    // A replay limits no client, so operators do not see it.
    store: redisStore(client, { prefix, clock, registry: false }),
    timeoutMs,
    async close() {
      try {
        await deleteKeys(client, `${prefix}:*`);
      } catch (error) {
        warn(
          `the keys ${prefix}:* could not be deleted from Redis at ${displayUrl} and will expire by themselves: ${messageOf(error)}`,
        );
      } finally {
        await connection.close();
      }
    },
  };
}

/** Once it is open, an interruption does not close it: keys are to be deleted first. */
async function connectUninterrupted(
  options: ConnectionOptions,
  context: CommandContext,
): Promise<Connection> {
  const opening = new AbortController();
  const abort = (): void => opening.abort(context.signal.reason);
  context.signal.throwIfAborted();
  context.signal.addEventListener("abort", abort);
  try {
    return await connect(options, { ...context, signal: opening.signal });
  } finally {
    context.signal.removeEventListener("abort", abort);
  }
}

async function deleteKeys(client: Connection["client"], pattern: string): Promise<void> {
  const nodes: readonly NodeClient[] = isCluster(client) ? client.nodes("master") : [client];
  for (const node of nodes) {
    let cursor = "0";
    do {
      const [next, keys] = await node.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
      // One by one: in a cluster, a command takes the keys of one slot.
      await Promise.all(keys.map((key) => node.unlink(key)));
      cursor = next;
    } while (cursor !== "0");
  }
}
