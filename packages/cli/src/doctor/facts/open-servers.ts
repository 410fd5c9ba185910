import type { Connection } from "../../connect/connection.ts";
import type { NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openAgain, openNode } from "../../connect/node-clients.ts";
import type { Address } from "../../connect/redis-url.ts";
import type { Asker } from "./fact.ts";
import { wordsOf } from "./fact.ts";
import type { Facts, SilentServer } from "./facts.ts";
import { parseInfo } from "./info.ts";
import { primaryNamedBy } from "./read-sentinels.ts";

/** All servers of a deployment, while they are asked. */
export interface OpenServers extends Pick<Facts, "way" | "silent"> {
  readonly askers: readonly Asker[];
  close(): void;
}

/** A server that is to be opened. */
interface Wanted {
  readonly place: string;
  readonly decides: boolean;
  open(): Promise<NodeClient>;
  /** What redis-cli needs to reach it. */
  readonly cli: readonly string[];
}

/** Opens every server that decides, and their replicas, with a client each. */
export async function openServers({ client }: Connection): Promise<OpenServers> {
  const opened = new Opened();
  if (isCluster(client)) {
    const primaries = new Set(client.nodes("master"));
    const nodes = client.nodes("all");
    await opened.add(nodes.map((node) => wantedNode(node, addressOf(node), primaries.has(node))));
    return opened.as("cluster");
  }
  const named = client.options.sentinels ? await primaryNamedBy(client) : undefined;
  await opened.add([named ? wantedNode(client, named, true) : wantedItself(client)]);
  const replicas = await replicasOf(opened.askers[0]);
  await opened.add(replicas.map((address) => wantedNode(client, address, false)));
  return opened.as(client.options.sentinels ? "sentinel" : "server");
}

class Opened {
  readonly askers: Asker[] = [];
  readonly #silent: SilentServer[] = [];
  readonly #clients: NodeClient[] = [];

  async add(wanted: readonly Wanted[]): Promise<void> {
    await Promise.all(wanted.map((server) => this.#open(server)));
  }

  async #open({ place, decides, cli, open }: Wanted): Promise<void> {
    try {
      const node = await open();
      this.#clients.push(node);
      const ask: Asker["ask"] = (command, ...args) => node.call(command, ...args);
      await requireAnswer(ask);
      this.askers.push({ place, decides, cli, ask });
    } catch (error) {
      this.#silent.push({ place, decides, why: wordsOf(error) });
    }
  }

  as(way: OpenServers["way"]): OpenServers {
    return {
      way,
      askers: inOrder(this.askers),
      silent: inOrder(this.#silent),
      close: () => {
        for (const client of this.#clients) client.disconnect();
      },
    };
  }
}

/** Those that decide first, then by their places. */
function inOrder<Server extends { readonly place: string; readonly decides: boolean }>(
  servers: readonly Server[],
): readonly Server[] {
  return [...servers].sort(
    (a, b) => Number(b.decides) - Number(a.decides) || (a.place < b.place ? -1 : 1),
  );
}

/** A server that is frozen takes connections, and answers nothing. A refusal is an answer. */
async function requireAnswer(ask: Asker["ask"]): Promise<void> {
  try {
    await ask("TIME");
  } catch (error) {
    if ((error as Error).name !== "ReplyError") throw error;
  }
}

function wantedItself(client: NodeClient): Wanted {
  const { path } = client.options;
  const address = addressOf(client);
  return {
    place: path || placeOf(address),
    decides: true,
    cli: path ? ["-s", path] : cliOf(client, address),
    open: () => openAgain(client),
  };
}

function wantedNode(client: NodeClient, address: Address, decides: boolean): Wanted {
  return {
    place: placeOf(address),
    decides,
    cli: cliOf(client, address),
    open: () => openNode(client, address),
  };
}

function cliOf({ options }: NodeClient, { host, port }: Address): readonly string[] {
  return ["-h", host, "-p", String(port), ...(options.tls ? ["--tls"] : [])];
}

function addressOf({ options }: NodeClient): Address {
  return { host: options.host ?? "127.0.0.1", port: options.port ?? 6379 };
}

/** As Redis writes it. */
function placeOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** Those that a primary names; none where it does not say. */
async function replicasOf(server: Asker | undefined): Promise<readonly Address[]> {
  if (server === undefined) return [];
  try {
    const info = parseInfo(String(await server.ask("INFO", "REPLICATION")));
    const lines = Object.keys(info).filter((field) => /^slave\d+$/.test(field));
    return lines.map((field) => readReplica(info[field] as string));
  } catch {
    return [];
  }
}

/** As in `ip=10.0.0.8,port=6379,state=online,offset=14,lag=0`. */
export function readReplica(line: string): Address & Readonly<Record<string, unknown>> {
  const parts = Object.fromEntries(line.split(",").map((part) => part.split("=")));
  return { ...parts, host: parts["ip"] ?? "", port: Number(parts["port"]) };
}
