import type { Cluster } from "ioredis";
import { Cluster as ClusterClient, Redis } from "ioredis";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import { explainError } from "./explain-error.ts";
import type { Address, Credentials } from "./redis-url.ts";
import type { Target } from "./target.ts";

/** The mode that a server reports; undefined if it reports none, for example behind a proxy. */
export type ServerMode = string | undefined;

/**
 * Reads the mode of a server: `standalone`, `cluster` or `sentinel`. Every authenticated user may run HELLO.
 * Rejects with the server's error.
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

/** The pause before reconnecting. */
const RETRY_MS = 200;

/** A connected client. */
export interface OpenClient<Client extends Redis | Cluster = Redis> {
  readonly client: Client;
  close(): void;
}

type RetryStrategy = () => number | null;

/** A client of one server, and the mode of the server. */
export interface OpenServer extends OpenClient {
  readonly address: Address | string;
  readonly mode: ServerMode;
}

interface OpenOptions<Client> {
  readonly displayName: string;
  readonly isTls: boolean;
  readonly signal: AbortSignal;
  create(retry: RetryStrategy): Client;
  /** Runs a first command, which shows whether the client may use the server. */
  check?(client: Client): Promise<unknown>;
  readonly errorEvent: "error" | "node error";
}

/** Connects to one server by its address or unix socket. Rejects with a `CommandError`. */
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

/** Connects to the primary that the Sentinels report. Rejects with a `CommandError`. */
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
 * Connects to all servers of a cluster. Only a server that has answered is a startup node: the client chooses one at random, and
 * would wait for those that are down. Rejects with a `CommandError`.
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
        // Certificates are issued for host names, so names are not resolved to addresses.
        dnsLookup: (address, callback) => callback(null, address),
        redisOptions: { ...commonOptions(target), ...serverCredentials } as object,
      }),
  });
}

/** These options need no permission besides signing in. The ready check would need INFO, and log its refusal on the console. */
function commonOptions({ tls, timeoutMs }: Target): object {
  return {
    ...(tls === undefined ? {} : { tls }),
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    disconnectTimeout: 100,
    enableReadyCheck: false,
    disableClientInfo: true,
    // The client treats a refusal of HELLO 3 as a warning, which may get lost.
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
  // The first failure rejects; a connection that is lost later is reopened.
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
    // For example an invalid database, with which the client would silently use another one. A cluster may lack a node.
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
