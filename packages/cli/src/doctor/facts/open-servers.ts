import type { Connection } from "../../connect/connection.ts";
import type { NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openDuplicate, openNode } from "../../connect/node-clients.ts";
import type { Address } from "../../connect/redis-url.ts";
import type { ServerConnection } from "./fact.ts";
import { redactedMessage } from "./fact.ts";
import type { Facts, UnreachableServer } from "./facts.ts";
import { parseInfo } from "./info.ts";
import { findPrimaryAddress } from "./read-sentinels.ts";

/** Open connections to all servers of a deployment. */
export interface OpenServers extends Pick<Facts, "topology" | "unreachable"> {
  readonly connections: readonly ServerConnection[];
  close(): void;
}

/** A server to connect to. */
interface ServerToOpen {
  readonly address: string;
  readonly receivesDecisions: boolean;
  open(): Promise<NodeClient>;
  readonly redisCliArgs: readonly string[];
}

/** Connects to every server that receives decisions and to its replicas, with one client each. */
export async function openServers({ client }: Connection): Promise<OpenServers> {
  const opened = new OpenedServers();
  if (isCluster(client)) {
    const primaries = new Set(client.nodes("master"));
    const nodes = client.nodes("all");
    await opened.add(nodes.map((node) => serverAt(node, addressOf(node), primaries.has(node))));
    return opened.withTopology("cluster");
  }
  const primary = client.options.sentinels ? await findPrimaryAddress(client) : undefined;
  await opened.add([primary ? serverAt(client, primary, true) : serverOfClient(client)]);
  const replicas = await readReplicas(opened.connections[0]);
  await opened.add(replicas.map((address) => serverAt(client, address, false)));
  return opened.withTopology(client.options.sentinels ? "sentinel" : "server");
}

class OpenedServers {
  readonly connections: ServerConnection[] = [];
  readonly #unreachable: UnreachableServer[] = [];
  readonly #clients: NodeClient[] = [];

  async add(servers: readonly ServerToOpen[]): Promise<void> {
    await Promise.all(servers.map((server) => this.#open(server)));
  }

  async #open({ address, receivesDecisions, redisCliArgs, open }: ServerToOpen): Promise<void> {
    try {
      const node = await open();
      this.#clients.push(node);
      const call: ServerConnection["call"] = (command, ...args) => node.call(command, ...args);
      await requireReply(call);
      this.connections.push({ address, receivesDecisions, redisCliArgs, call });
    } catch (error) {
      this.#unreachable.push({ address, receivesDecisions, reason: redactedMessage(error) });
    }
  }

  withTopology(topology: OpenServers["topology"]): OpenServers {
    return {
      topology,
      connections: sortServers(this.connections),
      unreachable: sortServers(this.#unreachable),
      close: () => {
        for (const client of this.#clients) client.disconnect();
      },
    };
  }
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
    const info = parseInfo(String(await server.call("INFO", "REPLICATION")));
    const lines = Object.keys(info).filter((field) => /^slave\d+$/.test(field));
    return lines.map((field) => parseReplica(info[field] as string));
  } catch {
    return [];
  }
}

/** Parses a replica line of INFO: `ip=10.0.0.8,port=6379,state=online,offset=14,lag=0`. */
export function parseReplica(line: string): Address & Readonly<Record<string, unknown>> {
  const parts = Object.fromEntries(line.split(",").map((part) => part.split("=")));
  return { ...parts, host: parts["ip"] ?? "", port: Number(parts["port"]) };
}
