import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Command } from "commander";
import type { Cluster } from "ioredis";
import { Redis } from "ioredis";
import { EXIT, Failure, messageOf } from "../command/failure.ts";
import type { Surroundings } from "../command/surroundings.ts";

/** Where counters are, while a command runs. */
export interface Connection {
  /** Where it is, without secrets, for messages: `redis://10.0.0.7:6379/0`. */
  readonly place: string;
  readonly client: Redis | Cluster;
  /** On that client, with the prefix, and listed nowhere. */
  readonly store: Store;
  readonly prefix: string;
  close(): Promise<void>;
}

/** What `addConnectionOptions` adds to a command. */
export interface ConnectionOptions {
  readonly redis?: string | undefined;
  readonly prefix?: string | undefined;
}

/** Adds the options that say where the counters are. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option("--redis <url>", "where the counters are (default: $REDIS_URL)")
    .option("--prefix <prefix>", "what the keys of the application begin with", "hg");
}

/** Opens what the options say. Rejects with a `Failure`, which never holds a user or a password. */
export async function connect(
  { redis, prefix = "hg" }: ConnectionOptions,
  { environment }: Surroundings,
): Promise<Connection> {
  const url = (redis ?? environment["REDIS_URL"]) || "redis://127.0.0.1:6379";
  const place = new URL(url).host;
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    client.disconnect();
    throw new Failure(`cannot reach Redis at ${place}: ${messageOf(error)}`, EXIT.store, {
      cause: error,
    });
  }
  return {
    place,
    client,
    store: redisStore(client, { prefix, directory: false }),
    prefix,
    close: async () => client.disconnect(),
  };
}
