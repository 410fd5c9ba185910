import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readDuration } from "../command/option-values.ts";
import type { Credentials, RedisUrl } from "./redis-url.ts";
import { formatDisplayUrl, parseRedisUrl } from "./redis-url.ts";
import { readSecret } from "./secret.ts";

/** The options that `addConnectionOptions` adds to a command. */
export interface ConnectionOptions {
  readonly redis?: string | undefined;
  readonly redisFile?: string | undefined;
  readonly user?: string | undefined;
  readonly passwordStdin?: boolean | undefined;
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly cluster?: boolean | undefined;
  readonly sentinel?: string | undefined;
  readonly prefix?: string | undefined;
  readonly timeout?: string | undefined;
  readonly local?: boolean | undefined;
}

/** The server to connect to, and how. */
export interface Target extends RedisUrl {
  /** The URL without secrets, for messages. */
  readonly displayUrl: string;
  /** The credentials for the server. If the URL names Sentinels, its credentials are for the Sentinels. */
  readonly serverCredentials: Credentials;
  readonly tls?: TlsOptions | undefined;
  readonly isCluster: boolean;
  /** The Sentinels' name of the primary. */
  readonly sentinelName?: string | undefined;
  /** How long to wait for each reply. */
  readonly timeoutMs: number;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/** Reads the options, the files they name, and the environment. Rejects with a `CommandError`. */
export async function readTarget(
  options: ConnectionOptions,
  context: CommandContext,
): Promise<Target> {
  const timeoutMs = readDuration("--timeout", options.timeout ?? "5s", "1ms", "1m");
  const url = await readUrl(options, context);
  const port = options.sentinel === undefined ? REDIS_PORT : SENTINEL_PORT;
  const addresses = url.addresses.map((one) => ({ ...one, port: one.port || port }));
  const resolved: RedisUrl = { ...url, addresses };
  requireCompatibleOptions(resolved, options);
  return {
    ...resolved,
    displayUrl: formatDisplayUrl(resolved),
    serverCredentials: await readServerCredentials(options, url, context),
    tls: url.isTls ? await readTls(options) : undefined,
    isCluster: options.cluster === true,
    sentinelName: options.sentinel,
    timeoutMs,
  };
}

async function readUrl(
  { redis, redisFile }: ConnectionOptions,
  { environment, stderr }: CommandContext,
): Promise<RedisUrl> {
  if (redisFile !== undefined) {
    return parseRedisUrl(await readRedisFile(redisFile), `the first line of ${redisFile}`);
  }
  if (redis === undefined) {
    return parseRedisUrl(environment["REDIS_URL"] || "redis://127.0.0.1", "$REDIS_URL");
  }
  const url = parseRedisUrl(redis, "--redis");
  if (url.credentials.password !== undefined) {
    stderr.write(
      "headgate: warning: the password in --redis is visible in ps and in the shell's history: use --redis-file, --password-stdin or $REDIS_URL\n",
    );
  }
  return url;
}

function requireCompatibleOptions(
  { path, isTls, database }: RedisUrl,
  { cluster, sentinel, cacert, cert, key }: ConnectionOptions,
): void {
  if (!isTls && (cacert ?? cert ?? key) !== undefined) {
    throw new CommandError("--cacert, --cert and --key are for TLS: begin the URL with rediss://");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new CommandError("--cert and --key go together: give both");
  }
  if (cluster && sentinel !== undefined) {
    throw new CommandError("--cluster and --sentinel exclude each other: give one of them");
  }
  if (path !== undefined && (cluster || sentinel !== undefined)) {
    throw new CommandError(
      "--cluster and --sentinel need hosts: a unix socket connects to one server only",
    );
  }
  if (cluster && database !== 0) {
    throw new CommandError("a cluster has only database 0: leave it out of the URL");
  }
}

/** Prefers standard input, then the URL, then the environment, which may be for another server. */
async function readServerCredentials(
  { user, passwordStdin }: ConnectionOptions,
  { credentials }: RedisUrl,
  context: CommandContext,
): Promise<Credentials> {
  const password = passwordStdin
    ? await readSecret("password", context)
    : (credentials.password ?? (context.environment["REDISCLI_AUTH"] || undefined));
  // A password without a user belongs to the user "default".
  const username = user ?? credentials.username ?? (password && "default");
  return { username, password };
}

async function readTls({ cacert, cert, key }: ConnectionOptions): Promise<TlsOptions> {
  return {
    ...(cacert === undefined ? {} : { ca: await readPem("--cacert", cacert) }),
    ...(cert === undefined ? {} : { cert: await readPem("--cert", cert) }),
    ...(key === undefined ? {} : { key: await readPem("--key", key) }),
  };
}

async function readPem(option: string, path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch(({ code }: NodeJS.ErrnoException) => {
    throw new CommandError(`cannot read ${option} ${path} (${code}): check the path`);
  });
  if (text.includes("-----BEGIN ")) return text;
  throw new CommandError(`${option} ${path} is not a PEM file: it must begin with -----BEGIN`);
}

/**
 * Reads the URL in the first line of a file. Rejects with a `CommandError` unless it is a regular file of this user that no other user
 * can read.
 */
export async function readRedisFile(path: string): Promise<string> {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error) => {
    throw new CommandError(`cannot read --redis-file ${path}: ${reasonOf(error)}`, undefined, {
      cause: error,
    });
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new CommandError(`--redis-file ${path} is not a regular file`);
    const user = process.getuid?.();
    if (user !== undefined && stats.uid !== user) {
      throw new CommandError(
        `--redis-file ${path} belongs to another user: give a file of your own`,
      );
    }
    if (user !== undefined && (stats.mode & 0o077) !== 0) {
      throw new CommandError(`--redis-file ${path} is open to other users: run chmod 600 ${path}`);
    }
    const [line = ""] = (await file.readFile("utf8")).split(/\r?\n/);
    return line.trim();
  } finally {
    await file.close();
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "you may not read it";
  return message;
}
