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

type RetryStrategy = () => number | null;

/** A client of one server, and that server's mode. */
export interface OpenServer extends OpenClient {
  readonly address: Address | string;
  readonly mode: ServerMode;
}

/** How a client is made. */
interface OpenOptions<Client> {
  readonly displayName: string;
  readonly isTls: boolean;
  readonly signal: AbortSignal;
  /** A client that tries again as `retry` says. */
  create(retry: RetryStrategy): Client;
  /** A first command, which shows whether it may be used. */
  check?(client: Client): Promise<unknown>;
  /** The event in which it says what went wrong. */
  readonly errorEvent: "error" | "node error";
}

/** One server, or a socket. Rejects with a `CommandError`. */
export async function openServer(
  target: Target,
  address: Address | string,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<OpenServer> {
  const location = typeof address === "string" ? { path: address } : address;
  const db = target.sentinelName === undefined ? target.database : 0;
  const displayName = typeof address === "string" ? address : `${address.host}:${address.port}`;
  const create = (retry: RetryStrategy): Redis =>
    new Redis({
      ...commonOptions(target),
      ...location,
      ...credentials,
      db,
      retryStrategy: retry,
    } as object);
  let mode: ServerMode;
  const { client, close } = await open({
    displayName,
    isTls: target.isTls,
    signal,
    errorEvent: "error",
    create,
    check: async (redis) => {
      mode = await readMode(redis);
    },
  });
  return { client, close, address, mode };
}

/** The primary that Sentinels name. Rejects with a `CommandError`. */
export function openPrimary(
  target: Target,
  sentinels: readonly Address[],
  sentinelCredentials: Credentials,
  signal: AbortSignal,
): Promise<OpenClient> {
  const { serverCredentials, database, tls, sentinelName, timeoutMs } = target;
  return open({
    displayName: `the primary ${sentinelName}`,
    isTls: target.isTls,
    signal,
    errorEvent: "error",
    check: readMode,
    create: (retry) =>
      new Redis({
        ...commonOptions(target),
        ...serverCredentials,
        db: database,
        name: sentinelName,
        sentinels: [...sentinels],
        sentinelUsername: sentinelCredentials.username,
        sentinelPassword: sentinelCredentials.password,
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
  { address }: OpenServer,
  signal: AbortSignal,
): Promise<OpenClient<Cluster>> {
  const { timeoutMs, addresses, serverCredentials, displayUrl } = target;
  const startupNodes = typeof address === "string" ? addresses : [address];
  return open({
    displayName: displayUrl,
    isTls: target.isTls,
    signal,
    errorEvent: "node error",
    create: (retry) =>
      new ClusterClient([...startupNodes], {
        lazyConnect: true,
        enableReadyCheck: false,
        slotsRefreshTimeout: timeoutMs,
        clusterRetryStrategy: retry,
        // Certificates are for names.
        dnsLookup: (address, callback) => callback(null, address),
        redisOptions: { ...commonOptions(target), ...serverCredentials } as object,
      }),
  });
}

/** Users need no other permissions for it than to sign in: the ready check would want INFO, and say so on the console. */
function commonOptions({ tls, timeoutMs }: Target): object {
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
  displayName,
  isTls,
  signal,
  errorEvent,
  create,
  check,
}: OpenOptions<Client>): Promise<OpenClient<Client>> {
  let isOpen = false;
  let reason: unknown;
  // The first failure is the answer; a connection that is lost later is made anew.
  const client = create(() => (isOpen ? RETRY_MS : null));
  const close = (): void => {
    signal.removeEventListener("abort", close);
    client.disconnect();
  };
  client.on("error", () => {});
  client.on(errorEvent, (error: unknown) => {
    reason ??= error;
  });
  signal.throwIfAborted();
  signal.addEventListener("abort", close);
  try {
    await client.connect();
    await check?.(client);
    // Such as a database that there is not: the client would go on with another one. A cluster may be without a node.
    if (reason !== undefined && errorEvent === "error") throw reason;
    isOpen = true;
    return { client, close };
  } catch (error) {
    close();
    signal.throwIfAborted();
    const cause = reason ?? error;
    throw new CommandError(
      `cannot use Redis at ${displayName}: ${explainError(cause, isTls)}`,
      EXIT.store,
      {
        cause,
      },
    );
  }
}
