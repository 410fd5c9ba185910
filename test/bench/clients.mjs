import { GlideClusterClient } from "@valkey/valkey-glide";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { createClient as createClient5 } from "redis5";

/** The clients, by the names of their packages here: redis is node-redis 6, redis5 is node-redis 5. */
export const LIBRARIES = ["ioredis", "redis5", "redis"];

/** The clients of a cluster. */
export const CLUSTER_LIBRARIES = ["ioredis", "redis", "glide"];

const TITLES = {
  ioredis: "ioredis",
  redis5: "node-redis 5",
  redis: "node-redis 6",
  glide: "Valkey GLIDE",
};

export function titleOf(library) {
  return TITLES[library];
}

/** A connected client with the options that it has by itself. */
export async function openClient(library, port) {
  if (library === "ioredis") {
    const client = new Redis(port, "127.0.0.1");
    await client.ping();
    return client;
  }
  const create = library === "redis5" ? createClient5 : createClient;
  const client = create({ socket: { host: "127.0.0.1", port } });
  client.on("error", (error) => {
    throw error;
  });
  await client.connect();
  return client;
}

/** A connected client of a cluster, whose servers are at these ports, with the options that it has by itself. */
export async function openCluster(library, ports) {
  const addresses = ports.map((port) => ({ host: "127.0.0.1", port }));
  if (library === "glide") return GlideClusterClient.createClient({ addresses });
  if (library === "ioredis") {
    const client = new Cluster(addresses);
    await client.ping();
    return client;
  }
  const client = createCluster({ rootNodes: addresses.map((socket) => ({ socket })) });
  client.on("error", (error) => {
    throw error;
  });
  await client.connect();
  return client;
}

/** Sends a command as it is. */
export function senderOf(library, client) {
  return library === "ioredis"
    ? (...command) => client.call(...command)
    : (...command) => client.sendCommand(command);
}
