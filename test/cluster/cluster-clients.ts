import { once } from "node:events";
import type { RedisClient } from "@headgate/core/redis";
import { GlideClusterClient, Logger } from "@valkey/valkey-glide";
import { Cluster as Ioredis } from "ioredis";
import { Cluster as Ioredis5 } from "ioredis5";
import { Cluster as Iovalkey } from "iovalkey";
import * as nodeRedis from "redis";
import * as nodeRedis5 from "redis5";
import type { Connection } from "../redis/clients.ts";
import { GLIDE_TIMEOUT_MS } from "../redis/clients.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";

// It logs by itself, to the console, each error that a server answers.
Logger.setLoggerConfig("off");

type Addresses = RedisCluster["addresses"];

/** How each library connects to a cluster. It is given nothing but the addresses, and needs no error listener. */
export const connectCluster = {
  "ioredis 6": (addresses) => fromIoredis(new Ioredis([...addresses])),
  "ioredis 5": (addresses) => fromIoredis(new Ioredis5([...addresses])),
  iovalkey: (addresses) => fromIoredis(new Iovalkey([...addresses])),
  "node-redis 6": async (addresses) => {
    const client = nodeRedis.createCluster({ rootNodes: rootNodesOf(addresses) });
    client.on("error", () => {});
    await client.connect();
    return { client, close: async () => client.destroy() };
  },
  "node-redis 5": async (addresses) => {
    const client = nodeRedis5.createCluster({ rootNodes: rootNodesOf(addresses) });
    client.on("error", () => {});
    await client.connect();
    return { client, close: async () => client.destroy() };
  },
  "Valkey GLIDE": async (addresses) => {
    const client = await GlideClusterClient.createClient({
      addresses: [...addresses],
      requestTimeout: GLIDE_TIMEOUT_MS,
    });
    return { client, close: async () => client.close() };
  },
} satisfies Record<string, (addresses: Addresses) => Promise<Connection>>;

export type ClusterClientName = keyof typeof connectCluster;

export const clusterClientNames = Object.keys(connectCluster) as ClusterClientName[];

/** The libraries people install today. The older ones do where time is short. */
export const currentClusterClients = ["ioredis 6", "node-redis 6", "Valkey GLIDE"] as const;

interface IoredisCluster {
  on(event: "error", listener: () => void): unknown;
  disconnect(): void;
}

async function fromIoredis(client: RedisClient & IoredisCluster): Promise<Connection> {
  client.on("error", () => {});
  await once(client as never, "ready");
  return { client, close: async () => client.disconnect() };
}

function rootNodesOf(addresses: Addresses): { url: string }[] {
  return addresses.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
}
