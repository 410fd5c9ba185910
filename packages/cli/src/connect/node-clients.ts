import type { Cluster, Redis, RedisOptions } from "ioredis";
import type { Address } from "./redis-url.ts";

/** Of one server. */
export type NodeClient = Redis;

/** Of one server: it connects when told, once, and asks for nothing by itself. */
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

/** Opens a client of a server, with the credentials and the TLS of a client that is there. Rejects as the connection does. */
export function openNode(client: Redis, address: Address): Promise<Redis> {
  const direct = { sentinels: null, path: undefined, readOnly: false } as unknown as RedisOptions;
  return open(client.duplicate({ ...ONE_ATTEMPT, ...direct, ...address }));
}

/** Opens one more client to the same place. Rejects with the connection's errors. */
export function openDuplicate(client: Redis): Promise<Redis> {
  return open(client.duplicate(ONE_ATTEMPT));
}

/** Opens a client of a Sentinel, with what a client that asks Sentinels has for them. Rejects as the connection does. */
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

/** A server that accepts the connection but says nothing is given up after the same time as one that does not accept it. */
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
