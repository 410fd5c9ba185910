import type { EventEmitter } from "node:events";
import type { RedisClient } from "@headgate/core/redis";
import { Cluster, Redis as Ioredis } from "ioredis";
import * as nodeRedis from "redis";
import type { ConnectionLog } from "./connection-log.ts";
import { logConnection } from "./connection-log.ts";
import type { Place, ServerPlace } from "./place.ts";

const HOST = "127.0.0.1";

export type Library = "ioredis" | "node-redis";

export const LIBRARIES: readonly Library[] = ["ioredis", "node-redis"];

/** A client with the options its library gives it, and nothing but a listener for errors. */
export interface FaultClient {
  readonly library: Library;
  readonly client: RedisClient & EventEmitter;
  readonly connection: ConnectionLog;
  /** Settles when it is connected, which may be never. */
  readonly connected: Promise<unknown>;
  close(): Promise<void>;
}

/** Makes a client; the server need not be there yet. */
export function makeClient(library: Library, place: Place): FaultClient {
  return library === "ioredis" ? makeIoredis(ioredisAt(place)) : makeNodeRedis(place);
}

interface IoredisWaits {
  readonly connectTimeout: number;
  readonly maxRetriesPerRequest: number;
}

/** For what a limiter's own documentation advises. */
export function makeIoredisWith(options: IoredisWaits, { port }: ServerPlace): FaultClient {
  return makeIoredis(new Ioredis(port, HOST, options));
}

function makeIoredis(client: Ioredis | Cluster): FaultClient {
  client.on("error", () => {});
  const connection = logConnection(client);
  const connected = new Promise((resolve) => client.once("ready", resolve));
  return {
    library: "ioredis",
    client,
    connection,
    connected,
    close: async () => client.disconnect(),
  };
}

function ioredisAt(place: Place) {
  if (place.kind === "server") return new Ioredis(place.port, HOST);
  const nodes = place.ports.map((port) => ({ host: HOST, port }));
  if (place.kind === "cluster") return new Cluster(nodes);
  return new Ioredis({ sentinels: nodes, name: place.master });
}

function makeNodeRedis(place: Place): FaultClient {
  const client = nodeRedisAt(place);
  client.on("error", () => {});
  const connection = logConnection(client);
  const connected = client.connect();
  // It is awaited only where the server is there.
  connected.catch(() => {});
  return {
    library: "node-redis",
    client,
    connection,
    connected,
    close: async () => client.destroy(),
  };
}

function nodeRedisAt(place: Place) {
  if (place.kind === "server") {
    return nodeRedis.createClient({ url: `redis://${HOST}:${place.port}` });
  }
  if (place.kind === "cluster") {
    const rootNodes = place.ports.map((port) => ({ url: `redis://${HOST}:${port}` }));
    return nodeRedis.createCluster({ rootNodes });
  }
  const sentinelRootNodes = place.ports.map((port) => ({ host: HOST, port }));
  return nodeRedis.createSentinel({ name: place.master, sentinelRootNodes });
}
