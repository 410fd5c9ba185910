import { randomBytes } from "node:crypto";
import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, messageOf } from "../command/command-error.ts";
import type { Connection, ConnectionOptions } from "../connect/connection.ts";
import { connect } from "../connect/connection.ts";
import type { NodeClient } from "../connect/node-clients.ts";
import { isCluster } from "../connect/node-clients.ts";

/** A Redis store for a replay, with the clock of the log. */
export interface ReplayRedis {
  readonly createStore: (clock: () => number) => Store;
  /** How long to wait for each reply. */
  readonly timeoutMs: number;
  /** Deletes the keys of the replay, or warns that they remain. */
  close(): Promise<void>;
}

/** The longest prefix to which the suffix of a replay can be added. */
const MAX_PREFIX = 16;

/** Connects to Redis with a prefix that no other replay uses. Rejects with a `CommandError`. */
export async function openReplayRedis(
  options: ConnectionOptions,
  context: CommandContext,
): Promise<ReplayRedis> {
  if ((options.prefix ?? "").length > MAX_PREFIX) {
    throw new CommandError(`a replay takes a --prefix of at most ${MAX_PREFIX} characters`);
  }
  const { client, displayUrl, timeoutMs, ...connection } = await connectUninterrupted(
    options,
    context,
  );
  // A replay cannot continue after an outage, so it does not reconnect.
  if (isCluster(client)) client.options.clusterRetryStrategy = () => null;
  else client.options.retryStrategy = () => null;
  const prefix = `${connection.prefix}-replay-${randomBytes(4).toString("hex")}`;
  return {
    // A replay denies no real client, so it is not in the registry.
    createStore: (clock) => redisStore(client, { prefix, clock, registry: false }),
    timeoutMs,
    async close() {
      try {
        await deleteKeys(client, `${prefix}:*`);
      } catch (error) {
        context.stderr.write(
          `headgate: the keys ${prefix}:* could not be deleted from Redis at ${displayUrl}, but expire by themselves: ${messageOf(error)}\n`,
        );
      } finally {
        await connection.close();
      }
    },
  };
}

/** After connecting, an interruption does not close the connection, because the keys must be deleted first. */
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
      // One by one, because in a cluster all keys of a command must be in one hash slot.
      await Promise.all(keys.map((key) => node.unlink(key)));
      cursor = next;
    } while (cursor !== "0");
  }
}
