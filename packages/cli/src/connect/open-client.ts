import type { Cluster } from "ioredis";
import { Cluster as ClusterClient, Redis } from "ioredis";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import { explainError } from "./explain-error.ts";
import type { Address, Credentials } from "./redis-url.ts";
import type { Target } from "./target.ts";

/** The mode that a server reports; undefined if it does not, as behind a proxy. */
export type ServerMode = string | undefined;

/**
 * Asks a server for its mode: `standalone`, `cluster` or `sentinel`. HELLO is open to every user after authentication.
 * Rejects with what the server says.
 */
async function readMode(client: Redis): Promise<ServerMode> {
  try {
    const reply = await client.call("HELLO");
    const words = Array.isArray(reply) ? reply.map(String) : [];
    const at = words.indexOf("mode");
    return at === -1 ? undefined : words[at + 1];
  } catch (error) {
    if (/^(ERR unknown command|NOPROTO|NOPERM)/i.test(messageOf(error))) return undefined;
    throw error;
  }
}

/** How long to wait before a lost connection is tried again. */
const RETRY_MS = 200;

/** A client that is connected. */
export interface OpenClient<Client extends Redis | Cluster = Redis> {
  readonly client: Client;
  close(): void;
}

type Strategy = () => number | null;

/** A client of one server, and that server's mode. */
export interface OpenServer extends OpenClient {
  readonly at: Address | string;
  readonly mode: ServerMode;
}

/** How a client is made. */
interface Opening<Client> {
  readonly place: string;
  readonly isTls: boolean;
  readonly signal: AbortSignal;
  /** A client that tries again as `retry` says. */
  make(retry: Strategy): Client;
  /** A first command, which shows whether it may be used. */
  check?(client: Client): Promise<unknown>;
  /** The event in which it says what went wrong. */
  readonly errors: "error" | "node error";
}

/** One server, or a socket. Rejects with a `CommandError`. */
export async function openServer(
  target: Target,
  at: Address | string,
  login: Credentials,
  signal: AbortSignal,
): Promise<OpenServer> {
  const there = typeof at === "string" ? { path: at } : at;
  const db = target.sentinelName === undefined ? target.database : 0;
  const place = typeof at === "string" ? at : `${at.host}:${at.port}`;
  const make = (retry: Strategy): Redis =>
    new Redis({ ...commonOf(target), ...there, ...login, db, retryStrategy: retry } as object);
  let mode: ServerMode;
  const { client, close } = await open({
    place,
    isTls: target.isTls,
    signal,
    errors: "error",
    make,
    check: async (redis) => {
      mode = await readMode(redis);
    },
  });
  return { client, close, at, mode };
}

/** The primary that Sentinels name. Rejects with a `CommandError`. */
export function openPrimary(
  target: Target,
  sentinels: readonly Address[],
  sentinelLogin: Credentials,
  signal: AbortSignal,
): Promise<OpenClient> {
  const { login, database, tls, sentinelName, timeoutMs } = target;
  return open({
    place: `the primary ${sentinelName}`,
    isTls: target.isTls,
    signal,
    errors: "error",
    check: readMode,
    make: (retry) =>
      new Redis({
        ...commonOf(target),
        ...login,
        db: database,
        name: sentinelName,
        sentinels: [...sentinels],
        sentinelUsername: sentinelLogin.username,
        sentinelPassword: sentinelLogin.password,
        sentinelCommandTimeout: timeoutMs,
        ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
        retryStrategy: retry,
        sentinelRetryStrategy: retry,
      } as object),
  });
}

/**
 * All servers of a cluster. Only one that has answered is asked which they are: among several the client would choose by chance, and
 * wait for those that are down. Rejects with a `CommandError`.
 */
export function openCluster(
  target: Target,
  { at }: OpenServer,
  signal: AbortSignal,
): Promise<OpenClient<Cluster>> {
  const { timeoutMs, addresses, login, place } = target;
  const asked = typeof at === "string" ? addresses : [at];
  return open({
    place,
    isTls: target.isTls,
    signal,
    errors: "node error",
    make: (retry) =>
      new ClusterClient([...asked], {
        lazyConnect: true,
        enableReadyCheck: false,
        slotsRefreshTimeout: timeoutMs,
        clusterRetryStrategy: retry,
        // Certificates are for names.
        dnsLookup: (address, callback) => callback(null, address),
        redisOptions: { ...commonOf(target), ...login } as object,
      }),
  });
}

/** Users need no other permissions for it than to sign in: the ready check would want INFO, and say so on the console. */
function commonOf({ tls, timeoutMs }: Target): object {
  return {
    ...(tls === undefined ? {} : { tls }),
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    disconnectTimeout: 100,
    enableReadyCheck: false,
    disableClientInfo: true,
    // A refusal of HELLO, with which the other client begins, may be treated as a warning, and get lost.
    protocol: 2,
  };
}

async function open<Client extends Redis | Cluster>({
  place,
  isTls,
  signal,
  errors,
  make,
  check,
}: Opening<Client>): Promise<OpenClient<Client>> {
  let isOpen = false;
  let reason: unknown;
  // The first failure is the answer; a connection that is lost later is made anew.
  const client = make(() => (isOpen ? RETRY_MS : null));
  const close = (): void => {
    signal.removeEventListener("abort", close);
    client.disconnect();
  };
  client.on("error", () => {});
  client.on(errors, (error: unknown) => {
    reason ??= error;
  });
  signal.throwIfAborted();
  signal.addEventListener("abort", close);
  try {
    await client.connect();
    await check?.(client);
    // Such as a database that there is not: the client would go on with another one. A cluster may be without a node.
    if (reason !== undefined && errors === "error") throw reason;
    isOpen = true;
    return { client, close };
  } catch (error) {
    close();
    signal.throwIfAborted();
    const cause = reason ?? error;
    throw new CommandError(
      `cannot use Redis at ${place}: ${explainError(cause, isTls)}`,
      EXIT.store,
      {
        cause,
      },
    );
  }
}
