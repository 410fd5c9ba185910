import type { Cluster, Redis } from "ioredis";
import { CommandError, EXIT } from "../command/command-error.ts";
import { explainError } from "./explain-error.ts";
import type { OpenClient, OpenServer, ServerMode } from "./open-client.ts";
import { openCluster, openPrimary, openServer } from "./open-client.ts";
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
