import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Command } from "commander";
import type { Cluster, Redis } from "ioredis";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import { findPrimary } from "./find-primary.ts";
import type { OpenClient, OpenServer, ServerMode } from "./open-client.ts";
import { openCluster, openServer } from "./open-client.ts";
import type { ConnectionOptions, Target } from "./target.ts";
import { readTarget } from "./target.ts";

export type { ConnectionOptions } from "./target.ts";

/** A connection to Redis for the duration of a command. */
export interface Connection {
  /** The URL without secrets, for messages: `redis://10.0.0.7:6379/0`. */
  readonly displayUrl: string;
  readonly client: Redis | Cluster;
  /** A store on this client, which is not in the registry. */
  readonly store: Store;
  readonly prefix: string;
  /** How long to wait for each reply. */
  readonly timeoutMs: number;
  close(): Promise<void>;
}

/** Adds the connection options. `redisHelp` describes `--redis`. */
export function addConnectionOptions(
  command: Command,
  redisHelp = "the URL of Redis (default: $REDIS_URL)",
): Command {
  return command
    .option("--redis <url>", redisHelp)
    .option("--redis-file <file>", "a file with the URL, readable only by you")
    .option("--user <name>", "the Redis user to connect as")
    .option("--password-stdin", "read the password from standard input, or prompt for it")
    .option(
      "--cacert <file>",
      "the CA certificate that signed the server's certificate, for rediss://",
    )
    .option("--cert <file>", "the client certificate, for rediss://")
    .option("--key <file>", "the private key of the client certificate")
    .option("--cluster", "the hosts in the URL belong to a Redis Cluster")
    .option(
      "--sentinel <name>",
      "the hosts in the URL are Sentinels, and this is their name of the primary",
    )
    .option("--prefix <prefix>", "the key prefix of the application", "hg")
    .option("--timeout <time>", "how long to wait for each reply", "5s");
}

/**
 * Connects as the options say. If the server belongs to a cluster, connects to the whole cluster. An interruption closes the
 * connection. Rejects with a `CommandError`, whose message never contains a user or a password.
 */
export async function connect(
  options: ConnectionOptions,
  context: CommandContext,
): Promise<Connection> {
  const { prefix = "hg" } = options;
  if (!/^[\w.-]{1,32}$/.test(prefix)) {
    throw new CommandError("--prefix must be 1 to 32 letters, digits, dots, dashes, underscores");
  }
  const target = await readTarget(options, context);
  const { client, close } = await openTarget(target, context.signal);
  return {
    displayUrl: target.displayUrl,
    client,
    store: redisStore(client, { prefix, registry: false }),
    prefix,
    timeoutMs: target.timeoutMs,
    close: async () => close(),
  };
}

/** Runs `work` on a connection and closes it afterwards. Rejects like `connect` and `work`. */
export async function withConnection<T>(
  options: ConnectionOptions,
  context: CommandContext,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(options, context);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

async function openTarget(
  target: Target,
  signal: AbortSignal,
): Promise<OpenClient<Redis | Cluster>> {
  if (target.sentinelName !== undefined) return findPrimary(target, target.sentinelName, signal);
  const first = await openFirst(target, signal);
  try {
    requireMode(target, first.mode);
    if (first.mode !== "cluster" && !target.isCluster) return first;
    const cluster = await openCluster(target, first, signal);
    first.close();
    return cluster;
  } catch (error) {
    first.close();
    throw error;
  }
}

/** Connects to the first address that answers. */
async function openFirst(target: Target, signal: AbortSignal): Promise<OpenServer> {
  const { path, addresses, serverCredentials } = target;
  if (path !== undefined) return openServer(target, path, serverCredentials, signal);
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await openServer(target, address, serverCredentials, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure ??= error;
    }
  }
  throw failure;
}

/** Rejects a server whose mode contradicts the options. A server without a known mode, for example behind a proxy, passes. */
function requireMode({ isCluster, displayUrl, addresses }: Target, mode: ServerMode): void {
  if (mode === "sentinel") {
    throw new CommandError(
      `${displayUrl} is a Sentinel: give its name of the primary with --sentinel NAME`,
      EXIT.store,
    );
  }
  if (mode === "standalone" && isCluster) {
    throw new CommandError(`${displayUrl} is not a cluster: leave out --cluster`, EXIT.store);
  }
  if (mode !== "cluster" && !isCluster && addresses.length > 1) {
    throw new CommandError(
      `${displayUrl} is not a cluster: give one host, because only a cluster or --sentinel NAME accepts several`,
      EXIT.store,
    );
  }
}
