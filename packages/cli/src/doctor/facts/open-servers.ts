import type { Connection } from "../../connect/connection.ts";
import type { NodeAddress, NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openAgain, openNode } from "../../connect/node-clients.ts";
import type { Asker } from "./asker.ts";
import { inTime, wordsOf } from "./asker.ts";
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
export async function openServers({ client, place }: Connection): Promise<OpenServers> {
  const clients: NodeClient[] = [];
  const askers: Asker[] = [];
  const silent: SilentServer[] = [];

  async function open({ place, decides, cli, open }: Wanted): Promise<void> {
    try {
      const node = await inTime(open());
      clients.push(node);
      askers.push({
        place,
        decides,
        cli,
        ask: (command, ...args) => inTime(node.call(command, ...args)),
      });
    } catch (error) {
      silent.push({ place, why: wordsOf(error) });
    }
  }

  let way: Facts["way"] = "server";
  if (isCluster(client)) {
    way = "cluster";
    const primaries = new Set(client.nodes("master"));
    await Promise.all(
      client
        .nodes("all")
        .map((node) => open(wantedNode(node, addressOf(node), primaries.has(node), ["-c"]))),
    );
  } else {
    if (client.options.sentinels) way = "sentinel";
    const primary = way === "sentinel" ? await primaryNamedBy(client) : undefined;
    await open(primary ? wantedNode(client, primary, true) : wantedItself(client, place));
    const replicas = await replicasOf(askers[0]);
    await Promise.all(replicas.map((address) => open(wantedNode(client, address, false))));
  }
  const byPlace = (a: { place: string }, b: { place: string }): number =>
    a.place < b.place ? -1 : 1;
  return {
    way,
    // Those that decide first.
    askers: askers.sort((a, b) => Number(b.decides) - Number(a.decides) || byPlace(a, b)),
    silent: silent.sort(byPlace),
    close() {
      for (const one of clients) one.disconnect();
    },
  };
}

function wantedItself(client: NodeClient, place: string): Wanted {
  const { path, host = "127.0.0.1", port = 6379 } = client.options;
  const cli = path ? ["-s", path] : cliOf(client, { host, port });
  return { place, decides: true, cli, open: () => openAgain(client) };
}

function wantedNode(
  client: NodeClient,
  address: NodeAddress,
  decides: boolean,
  more: readonly string[] = [],
): Wanted {
  return {
    place: placeOf(address),
    decides,
    cli: [...more, ...cliOf(client, address)],
    open: () => openNode(client, address),
  };
}

function cliOf({ options }: NodeClient, { host, port }: NodeAddress): readonly string[] {
  return ["-h", host, "-p", String(port), ...(options.tls ? ["--tls"] : [])];
}

function addressOf({ options }: NodeClient): NodeAddress {
  return { host: options.host ?? "127.0.0.1", port: options.port ?? 6379 };
}

/** As Redis writes it. */
function placeOf({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

/** Those that a primary names; none where it does not say. */
async function replicasOf(server: Asker | undefined): Promise<readonly NodeAddress[]> {
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
export function readReplica(line: string): NodeAddress & Readonly<Record<string, unknown>> {
  const parts = Object.fromEntries(line.split(",").map((part) => part.split("=")));
  return { ...parts, host: parts["ip"] ?? "", port: Number(parts["port"]) };
}
