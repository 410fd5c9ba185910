import type { Cluster } from "ioredis";
import { Cluster as ClusterClient, Redis } from "ioredis";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import { explainError } from "./explain-error.ts";
import type { Address, Credentials } from "./redis-url.ts";
import type { Target } from "./target.ts";

/** Connects to the server, the cluster, or the primary that the Sentinels know. Rejects with a `CommandError`. */
export async function openTarget(
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

/** A Sentinel that answered, and the credentials that it accepted. */
interface SentinelLogin {
  readonly address: Address;
  readonly credentials: Credentials;
}

/**
 * Finds the first Sentinel that answers and knows the name, and connects to its primary. Querying a Sentinel first tells three failures
 * apart that a Sentinel client reports as one: no Sentinel answers, the name is unknown, the primary does not answer.
 */
async function findPrimary(target: Target, name: string, signal: AbortSignal): Promise<OpenClient> {
  const { address, credentials } = await findSentinel(target, name, signal);
  const others = target.addresses.filter((one) => one !== address);
  return openPrimary(target, [address, ...others], credentials, signal);
}

async function findSentinel(
  target: Target,
  name: string,
  signal: AbortSignal,
): Promise<SentinelLogin> {
  let failure: unknown;
  for (const address of target.addresses) {
    for (const credentials of sentinelCredentialsOf(target)) {
      try {
        await requireKnownPrimary(
          await openServer(target, address, credentials, signal),
          name,
          address,
        );
        return { address, credentials };
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
        if (!isAuthError(error)) break;
      }
    }
  }
  throw failure;
}

/** The credentials to try in turn. Many Sentinels need no password, so it is sent only to those that require one. */
function sentinelCredentialsOf({ credentials, serverCredentials }: Target): readonly Credentials[] {
  const withPassword = [credentials, serverCredentials].filter(
    ({ password }) => password !== undefined,
  );
  const [first, second] = withPassword.map(({ username = "default", password }) => ({
    username,
    password,
  }));
  const isSame = first?.username === second?.username && first?.password === second?.password;
  return [{}, first, isSame ? undefined : second].filter((one) => one !== undefined);
}

function isAuthError(error: unknown): boolean {
  const cause = error instanceof CommandError ? error.cause : undefined;
  return cause instanceof Error && /^(NOAUTH|WRONGPASS)/.test(cause.message);
}

async function requireKnownPrimary(
  { client, close, mode }: OpenServer,
  name: string,
  { host, port }: Address,
): Promise<void> {
  try {
    if (mode !== "sentinel") {
      throw new CommandError(
        `${host}:${port} is not a Sentinel: leave out --sentinel, or give the port of a Sentinel`,
        EXIT.store,
      );
    }
    const primary = await client.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
    if (primary !== null) return;
    const known = (await client.call("SENTINEL", "MASTERS")) as readonly (readonly string[])[];
    const names = known.map((fields) => fields[fields.indexOf("name") + 1]);
    throw new CommandError(
      `the Sentinel ${host}:${port} knows no primary ${name}: use --sentinel with ${names.join(", ") || "a known name"}`,
      EXIT.store,
    );
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`the Sentinel ${host}:${port}: ${explainError(error)}`, EXIT.store, {
      cause: error,
    });
  } finally {
    close();
  }
}

/** The mode that a server reports; undefined if it reports none, for example behind a proxy. */
type ServerMode = string | undefined;

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
interface OpenClient<Client extends Redis | Cluster = Redis> {
  readonly client: Client;
  close(): void;
}

type RetryStrategy = () => number | null;

/** A client of one server, and the mode of the server. */
interface OpenServer extends OpenClient {
  readonly address: Address | string;
  readonly mode: ServerMode;
}

interface OpenOptions<Client> {
  readonly displayName: string;
  create(retry: RetryStrategy): Client;
  /** Runs a first command, which shows whether the client may use the server. */
  check?(client: Client): Promise<unknown>;
  /** Default: `error`. */
  readonly errorEvent?: "node error";
}

/** Connects to one server by its address or unix socket. Rejects with a `CommandError`. */
async function openServer(
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
  const { client, close } = await open(target, signal, {
    displayName,
    create,
    check: async (redis) => {
      mode = await readMode(redis);
    },
  });
  return { client, close, address, mode };
}

/** Connects to the primary that the Sentinels report. Rejects with a `CommandError`. */
function openPrimary(
  target: Target,
  sentinels: readonly Address[],
  sentinelCredentials: Credentials,
  signal: AbortSignal,
): Promise<OpenClient> {
  const { serverCredentials, database, tls, sentinelName, timeoutMs } = target;
  return open(target, signal, {
    displayName: `the primary ${sentinelName}`,
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
function openCluster(
  target: Target,
  { address }: OpenServer,
  signal: AbortSignal,
): Promise<OpenClient<Cluster>> {
  const { timeoutMs, addresses, serverCredentials, displayUrl } = target;
  const startupNodes = typeof address === "string" ? addresses : [address];
  return open(target, signal, {
    displayName: displayUrl,
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

async function open<Client extends Redis | Cluster>(
  { isTls }: Target,
  signal: AbortSignal,
  { displayName, create, check, errorEvent }: OpenOptions<Client>,
): Promise<OpenClient<Client>> {
  let isOpen = false;
  let reason: unknown;
  // The first failure rejects; a connection that is lost later is reopened.
  const client = create(() => (isOpen ? RETRY_MS : null));
  const close = (): void => {
    signal.removeEventListener("abort", close);
    client.disconnect();
  };
  client.on("error", () => {});
  client.on(errorEvent ?? "error", (error: unknown) => {
    reason ??= error;
  });
  signal.throwIfAborted();
  signal.addEventListener("abort", close);
  try {
    await client.connect();
    await check?.(client);
    // For example an invalid database, with which the client would silently use another one. A cluster may lack a node.
    if (reason !== undefined && errorEvent === undefined) throw reason;
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
