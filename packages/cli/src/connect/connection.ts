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

/** Where counters are, while a command runs. */
export interface Connection {
  /** Where it is, without secrets, for messages: `redis://10.0.0.7:6379/0`. */
  readonly displayUrl: string;
  readonly client: Redis | Cluster;
  /** On that client, with the prefix, and listed nowhere. */
  readonly store: Store;
  readonly prefix: string;
  /** The longest wait for each answer: milliseconds, for `operate` and `readRegistry`. */
  readonly timeoutMs: number;
  close(): Promise<void>;
}

/** Adds the options that say where the counters are. `redisHelp`: what the help says of `--redis`. */
export function addConnectionOptions(
  command: Command,
  redisHelp = "where the counters are (default: $REDIS_URL)",
): Command {
  return command
    .option("--redis <url>", redisHelp)
    .option("--redis-file <file>", "a file with that URL, which only you can read")
    .option("--user <name>", "the user of Redis to connect as")
    .option("--password-stdin", "read the password from standard input, or ask for it")
    .option(
      "--cacert <file>",
      "the certificate of the authority that signed the server's, for rediss://",
    )
    .option("--cert <file>", "the certificate of the client, for rediss://")
    .option("--key <file>", "its private key")
    .option("--cluster", "the URL's hosts belong to a cluster")
    .option(
      "--sentinel <name>",
      "the URL's hosts are Sentinels, which know the primary by this name",
    )
    .option("--prefix <prefix>", "the prefix of the application's keys", "hg")
    .option("--timeout <time>", "the longest wait for each answer", "5s");
}

/**
 * Opens what the options say; a server that turns out to be of a cluster brings the whole cluster. An interruption closes it. Rejects
 * with a `CommandError`, which never holds a user or a password.
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

/** Works on a connection, and closes it. Rejects as `connect`, and as the work. */
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

/** The first address that answers. */
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

/** A server that does not say its mode, as behind a proxy, is taken for what the options say. */
function requireMode({ isCluster, displayUrl, addresses }: Target, mode: ServerMode): void {
  if (mode === "sentinel") {
    throw new CommandError(
      `${displayUrl} is a Sentinel: say what it calls the primary, with --sentinel NAME`,
      EXIT.store,
    );
  }
  if (mode === "standalone" && isCluster) {
    throw new CommandError(`${displayUrl} is not a cluster: leave out --cluster`, EXIT.store);
  }
  if (mode !== "cluster" && !isCluster && addresses.length > 1) {
    throw new CommandError(
      `${displayUrl} is not a cluster, and only a cluster or --sentinel NAME takes several hosts: give one host`,
      EXIT.store,
    );
  }
}
