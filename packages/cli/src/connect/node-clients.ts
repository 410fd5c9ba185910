import type { Cluster, Redis, RedisOptions } from "ioredis";
import type { Address } from "./redis-url.ts";

/** A client of one server. */
export type NodeClient = Redis;

/** Options of a client that makes one attempt to connect, and sends no commands by itself. */
const ONE_ATTEMPT: RedisOptions = {
  lazyConnect: true,
  enableReadyCheck: false,
  disableClientInfo: true,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
};

export function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}

/** Connects to a server with the credentials and TLS options of an existing client. Rejects with the connection error. */
export function openNode(client: Redis, address: Address): Promise<Redis> {
  const direct = { sentinels: null, path: undefined, readOnly: false } as unknown as RedisOptions;
  return open(client.duplicate({ ...ONE_ATTEMPT, ...direct, ...address }));
}

/** Opens another connection to the same server. Rejects with the connection error. */
export function openDuplicate(client: Redis): Promise<Redis> {
  return open(client.duplicate(ONE_ATTEMPT));
}

/** Connects to a Sentinel with the Sentinel options of an existing client. Rejects with the connection error. */
export function openSentinel(client: Redis, address: Address): Promise<Redis> {
  const { sentinelUsername, sentinelPassword, sentinelTLS } = client.options;
  const sentinelOptions = {
    username: sentinelUsername,
    password: sentinelPassword,
    tls: sentinelTLS,
    db: 0,
  } as RedisOptions;
  const direct = { sentinels: null, path: undefined } as unknown as RedisOptions;
  return open(client.duplicate({ ...ONE_ATTEMPT, ...direct, ...sentinelOptions, ...address }));
}

/** A server that accepts the connection but sends nothing fails after the same time as one that does not accept it. */
async function open(client: Redis): Promise<Redis> {
  const { connectTimeout = 10_000 } = client.options;
  let reason: Error | undefined;
  client.on("error", (error: Error) => {
    reason = error;
  });
  const timer = setTimeout(() => {
    reason = new Error(`no answer within ${connectTimeout} ms`);
    client.disconnect();
  }, connectTimeout);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.disconnect();
    throw reason ?? error;
  } finally {
    clearTimeout(timer);
  }
}
