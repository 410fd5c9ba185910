import type { Connection } from "../../connect/connection.ts";
import type { NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openDuplicate, openNode, openSentinel } from "../../connect/node-clients.ts";
import type { Address } from "../../connect/redis-url.ts";
import type { Facts, Info, SentinelFacts, ServerConnection, UnreachableServer } from "./facts.ts";
import { parseInfo, readFact, redactedMessage } from "./facts.ts";

interface OpenServers extends Pick<Facts, "topology" | "unreachable"> {
  readonly connections: readonly ServerConnection[];
  close(): void;
}

interface ServerToOpen extends Omit<ServerConnection, "call"> {
  open(): Promise<NodeClient>;
}

/** Connects to every server that receives decisions and to its replicas, with one client each. */
export async function openServers({ client }: Connection): Promise<OpenServers> {
  const connections: ServerConnection[] = [];
  const unreachable: UnreachableServer[] = [];
  const clients: NodeClient[] = [];

  async function openOne({ open, ...server }: ServerToOpen): Promise<void> {
    try {
      const node = await open();
      clients.push(node);
      const call: ServerConnection["call"] = (command, ...args) => node.call(command, ...args);
      await requireReply(call);
      connections.push({ ...server, call });
    } catch (error) {
      const { address, receivesDecisions } = server;
      unreachable.push({ address, receivesDecisions, reason: redactedMessage(error) });
    }
  }

  let topology: OpenServers["topology"];
  if (isCluster(client)) {
    topology = "cluster";
    const primaries = new Set(client.nodes("master"));
    await Promise.all(
      client
        .nodes("all")
        .map((node) => openOne(serverAt(node, addressOf(node), primaries.has(node)))),
    );
  } else {
    topology = client.options.sentinels ? "sentinel" : "server";
    const primary = topology === "sentinel" ? await findPrimaryAddress(client) : undefined;
    await openOne(primary ? serverAt(client, primary, true) : serverOfClient(client));
    const replicas = await readReplicas(connections[0]);
    await Promise.all(replicas.map((address) => openOne(serverAt(client, address, false))));
  }
  return {
    topology,
    connections: sortServers(connections),
    unreachable: sortServers(unreachable),
    close: () => {
      for (const opened of clients) opened.disconnect();
    },
  };
}

/** Puts the servers that receive decisions first, then sorts by address. */
function sortServers<
  Server extends { readonly address: string; readonly receivesDecisions: boolean },
>(servers: readonly Server[]): readonly Server[] {
  return [...servers].sort(
    (a, b) =>
      Number(b.receivesDecisions) - Number(a.receivesDecisions) || (a.address < b.address ? -1 : 1),
  );
}

/** A frozen server accepts connections but never replies. An error reply counts as a reply. */
async function requireReply(call: ServerConnection["call"]): Promise<void> {
  try {
    await call("TIME");
  } catch (error) {
    if ((error as Error).name !== "ReplyError") throw error;
  }
}

function serverOfClient(client: NodeClient): ServerToOpen {
  const { path } = client.options;
  const address = addressOf(client);
  return {
    address: path || formatAddress(address),
    receivesDecisions: true,
    redisCliArgs: path ? ["-s", path] : redisCliArgsOf(client, address),
    open: () => openDuplicate(client),
  };
}

function serverAt(client: NodeClient, address: Address, receivesDecisions: boolean): ServerToOpen {
  return {
    address: formatAddress(address),
    receivesDecisions,
    redisCliArgs: redisCliArgsOf(client, address),
    open: () => openNode(client, address),
  };
}

function redisCliArgsOf({ options }: NodeClient, { host, port }: Address): readonly string[] {
  return ["-h", host, "-p", String(port), ...(options.tls ? ["--tls"] : [])];
}

function addressOf({ options }: NodeClient): Address {
  return { host: options.host ?? "127.0.0.1", port: options.port ?? 6379 };
}

/** Formats an address as Redis does. */
function formatAddress({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** The addresses of the replicas of a primary; empty if the primary refuses INFO. */
async function readReplicas(server: ServerConnection | undefined): Promise<readonly Address[]> {
  if (server === undefined) return [];
  try {
    return replicasOf(parseInfo(String(await server.call("INFO", "REPLICATION"))));
  } catch {
    return [];
  }
}

/** The replicas in INFO, each from a line such as `slave0:ip=10.0.0.8,port=6379,state=online,offset=14,lag=0`. */
export function replicasOf(info: Info): readonly (Address & Readonly<Record<string, unknown>>)[] {
  return Object.entries(info)
    .filter(([field]) => /^slave\d+$/.test(field))
    .map(([, line]) => {
      const parts = Object.fromEntries(line.split(",").map((part) => part.split("=")));
      return { ...parts, host: parts["ip"] ?? "", port: Number(parts["port"]) };
    });
}

/** The state of each Sentinel; empty if the client does not use Sentinels. */
export async function readSentinels({ client }: Connection): Promise<readonly SentinelFacts[]> {
  if (isCluster(client)) return [];
  return Promise.all(sentinelsOf(client).map((address) => readSentinel(client, address)));
}

/** The address of the primary from the first Sentinel that answers; undefined if none does. */
async function findPrimaryAddress(client: NodeClient): Promise<Address | undefined> {
  for (const sentinel of sentinelsOf(client)) {
    const address = await readFact("SENTINEL GET-MASTER-ADDR-BY-NAME", () =>
      withSentinel(client, sentinel, (opened) => readPrimaryAddress(opened, client)),
    );
    if ("host" in address) return address;
  }
  return undefined;
}

async function readSentinel(client: NodeClient, address: Address): Promise<SentinelFacts> {
  const { name } = client.options;
  const [quorum, primary] = await Promise.all([
    readFact("SENTINEL CKQUORUM", () =>
      withSentinel(client, address, async (opened) =>
        String(await opened.call("SENTINEL", "CKQUORUM", String(name))),
      ),
    ),
    readFact("SENTINEL GET-MASTER-ADDR-BY-NAME", () =>
      withSentinel(client, address, async (opened) => {
        const { host, port } = await readPrimaryAddress(opened, client);
        return `${host}:${port}`;
      }),
    ),
  ]);
  return { address: `${address.host}:${address.port}`, quorum, primary };
}

async function readPrimaryAddress(opened: NodeClient, { options }: NodeClient): Promise<Address> {
  const reply = await opened.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", String(options.name));
  if (!Array.isArray(reply)) throw new Error(`it knows no primary called ${options.name}`);
  return { host: String(reply[0]), port: Number(reply[1]) };
}

function sentinelsOf({ options }: NodeClient): readonly Address[] {
  return (options.sentinels ?? []).map(({ host = "127.0.0.1", port = 26379 }) => ({ host, port }));
}

async function withSentinel<T>(
  client: NodeClient,
  address: Address,
  work: (opened: NodeClient) => Promise<T>,
): Promise<T> {
  const opened = await openSentinel(client, address);
  try {
    return await work(opened);
  } finally {
    opened.disconnect();
  }
}
