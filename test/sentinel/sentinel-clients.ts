import { once } from "node:events";
import { Redis as Ioredis } from "ioredis";
import { createSentinel } from "redis";
import type { Connection } from "../redis/clients.ts";
import type { RedisSentinel } from "../support/redis-sentinel.ts";

/** How each library finds a primary through Sentinels. It is given nothing but their addresses and the primary's name. */
export const connectSentinel = {
  "ioredis 6": async ({ addresses, name }) => {
    const client = new Ioredis({ sentinels: [...addresses], name });
    client.on("error", () => {});
    await once(client, "ready");
    return { client, close: async () => client.disconnect() };
  },
  "node-redis 6": async ({ addresses, name }) => {
    const client = createSentinel({ name, sentinelRootNodes: [...addresses] });
    client.on("error", () => {});
    await client.connect();
    return { client, close: async () => client.destroy() };
  },
} satisfies Record<string, (sentinel: RedisSentinel) => Promise<Connection>>;

export const sentinelClients = ["ioredis 6", "node-redis 6"] as const;
