import type { Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import type { Command } from "commander";
import type { Cluster, Redis } from "ioredis";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import { printLocalTimes } from "../output/time.ts";
import { openTarget } from "./open-target.ts";
import type { ConnectionOptions } from "./target.ts";
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
    .option("--timeout <time>", "how long to wait for each reply", "5s")
    .option("--local", "print times in this machine's time zone, not in UTC");
}

/**
 * Connects as the options say. If the server belongs to a cluster, connects to the whole cluster. An interruption closes the
 * connection. Rejects with a `CommandError`, whose message never contains a user or a password.
 */
export async function connect(
  options: ConnectionOptions,
  context: CommandContext,
): Promise<Connection> {
  const { prefix = "hg", local = false } = options;
  printLocalTimes(local);
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
  } catch (error) {
    throw await explainRefusal(connection, error);
  } finally {
    await connection.close();
  }
}

/** A connection with the admin API and the server's clock. */
export interface Session extends Connection {
  readonly admin: Admin;
  /** The server's clock, in milliseconds since the epoch. */
  now(): number;
}

/** Runs `work` on a connection and closes it afterwards. Rejects like `connect` and `work`. */
export function withSession<T>(
  options: ConnectionOptions,
  context: CommandContext,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return withConnection(options, context, async (connection) => {
    const start = performance.now();
    const serverTime = await readServerTime(connection);
    const now = (): number => serverTime + performance.now() - start;
    const admin = createAdmin(connection.store, { storeTimeout: connection.timeoutMs });
    return work({ ...connection, admin, now });
  });
}

/** The server's time in milliseconds since the epoch, or this machine's if the user may not run TIME. */
async function readServerTime({ client }: Connection): Promise<number> {
  try {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  } catch {
    return Date.now();
  }
}

/**
 * The error of a script does not name the forbidden command on some servers. Then runs each reading command separately, and resolves with
 * a `CommandError` that names the forbidden ones. Resolves with any other error as it is.
 */
async function explainRefusal(connection: Connection, error: unknown): Promise<unknown> {
  const cause = error instanceof HeadgateError ? error.cause : undefined;
  if (!/can't run this command/.test(messageOf(cause))) return error;
  const refused = await findRefusedCommands(connection);
  if (refused.length === 0) return error;
  return new CommandError(
    `this user may not run ${refused.join(", ").toUpperCase()}: an administrator can allow it with ACL SETUSER ... ${refused.map((command) => `+${command}`).join(" ")}`,
    EXIT.store,
    { cause: error },
  );
}

async function findRefusedCommands({ client, prefix }: Connection): Promise<readonly string[]> {
  const key = `${prefix}:{control}`;
  const reads = [
    ["get", key],
    ["strlen", key],
    ["getrange", key, "0", "0"],
    ["lrange", `${key}:actions`, "0", "0"],
    ["time"],
    ["hlen", key],
    ["hgetall", key],
    ["zcard", key],
    ["zrange", key, "0", "0"],
  ] as const;
  const refused = await Promise.all(
    reads.map(async ([command, ...args]) => {
      const reply = await client.call(command, ...args).then(String, messageOf);
      return /^NOPERM.*'\w+' command/s.test(reply) ? command : undefined;
    }),
  );
  return refused.filter((command) => command !== undefined);
}
