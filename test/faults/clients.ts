import type { EventEmitter } from "node:events";
import type { RedisClient } from "@headgate/core/redis";
import { Cluster, Redis as Ioredis } from "ioredis";
import * as nodeRedis from "redis";
import type { ConnectionLog } from "./connection-log.ts";
import { logConnection } from "./connection-log.ts";
import type { Endpoint, ServerEndpoint } from "./endpoint.ts";

const HOST = "127.0.0.1";

export type Library = "ioredis" | "node-redis";

export const LIBRARIES: readonly Library[] = ["ioredis", "node-redis"];

/** A client with its library's default options, and a listener for errors. */
export interface FaultClient {
  readonly library: Library;
  readonly client: RedisClient & EventEmitter;
  readonly connection: ConnectionLog;
  /** Settles when the client is connected, which may never happen. */
  readonly connected: Promise<unknown>;
  close(): Promise<void>;
}

/** Makes a client; the server need not run yet. */
export function makeClient(library: Library, endpoint: Endpoint): FaultClient {
  return library === "ioredis" ? makeIoredis(ioredisAt(endpoint)) : makeNodeRedis(endpoint);
}

interface IoredisTimeouts {
  readonly connectTimeout: number;
  readonly maxRetriesPerRequest: number;
}

/** Makes an ioredis client with the options that another limiter's documentation recommends. */
export function makeIoredisWith(options: IoredisTimeouts, { port }: ServerEndpoint): FaultClient {
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

function ioredisAt(endpoint: Endpoint) {
  if (endpoint.kind === "server") return new Ioredis(endpoint.port, HOST);
  const nodes = endpoint.ports.map((port) => ({ host: HOST, port }));
  if (endpoint.kind === "cluster") return new Cluster(nodes);
  return new Ioredis({ sentinels: nodes, name: endpoint.master });
}

function makeNodeRedis(endpoint: Endpoint): FaultClient {
  const client = nodeRedisAt(endpoint);
  client.on("error", () => {});
  const connection = logConnection(client);
  const connected = client.connect();
  // A round awaits it only if the server runs at the start.
  connected.catch(() => {});
  return {
    library: "node-redis",
    client,
    connection,
    connected,
    close: async () => client.destroy(),
  };
}

function nodeRedisAt(endpoint: Endpoint) {
  if (endpoint.kind === "server") {
    return nodeRedis.createClient({ url: `redis://${HOST}:${endpoint.port}` });
  }
  if (endpoint.kind === "cluster") {
    const rootNodes = endpoint.ports.map((port) => ({ url: `redis://${HOST}:${port}` }));
    return nodeRedis.createCluster({ rootNodes });
  }
  const sentinelRootNodes = endpoint.ports.map((port) => ({ host: HOST, port }));
  return nodeRedis.createSentinel({ name: endpoint.master, sentinelRootNodes });
}
