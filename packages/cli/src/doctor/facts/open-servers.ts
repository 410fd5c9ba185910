import type { Connection } from "../../connect/connection.ts";
import type { NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openDuplicate, openNode } from "../../connect/node-clients.ts";
import type { Address } from "../../connect/redis-url.ts";
import type { ServerConnection } from "./fact.ts";
import { redactedMessage } from "./fact.ts";
import type { Facts, UnreachableServer } from "./facts.ts";
import { parseInfo } from "./info.ts";
import { findPrimaryAddress } from "./read-sentinels.ts";

/** All servers of a deployment, while they are asked. */
export interface OpenServers extends Pick<Facts, "way" | "silent"> {
  readonly connections: readonly ServerConnection[];
  close(): void;
}

/** A server that is to be opened. */
interface ServerToOpen {
  readonly address: string;
  readonly receivesDecisions: boolean;
  open(): Promise<NodeClient>;
  /** What redis-cli needs to reach it. */
  readonly redisCliArgs: readonly string[];
}

/** Opens every server that decides, and their replicas, with a client each. */
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

  async add(wanted: readonly ServerToOpen[]): Promise<void> {
    await Promise.all(wanted.map((server) => this.#open(server)));
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

/** Those that decide first, then by their places. */
function sortServers<Server extends { readonly place: string; readonly decides: boolean }>(
  servers: readonly Server[],
): readonly Server[] {
  return [...servers].sort(
    (a, b) => Number(b.decides) - Number(a.decides) || (a.place < b.place ? -1 : 1),
  );
}

/** A server that is frozen takes connections, and answers nothing. A refusal is an answer. */
async function requireReply(ask: ServerConnection["call"]): Promise<void> {
  try {
    await ask("TIME");
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

/** As Redis writes it. */
function formatAddress({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** Those that a primary names; none where it does not say. */
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

/** As in `ip=10.0.0.8,port=6379,state=online,offset=14,lag=0`. */
export function parseReplica(line: string): Address & Readonly<Record<string, unknown>> {
  const parts = Object.fromEntries(line.split(",").map((part) => part.split("=")));
  return { ...parts, host: parts["ip"] ?? "", port: Number(parts["port"]) };
}
