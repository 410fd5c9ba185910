import type { RedisClient } from "@headgate/core/redis";
import { GlideClient, Logger } from "@valkey/valkey-glide";
import { Redis as Ioredis } from "ioredis";
import { Redis as Ioredis5 } from "ioredis5";
import { Redis as Iovalkey } from "iovalkey";
import * as nodeRedis from "redis";
import * as nodeRedis5 from "redis5";
import { startTcpProxy } from "../support/tcp-proxy.ts";

// It logs by itself, to the console, each error that a server answers.
Logger.setLoggerConfig("off");

/** GLIDE's own limit for a command. The default of 250 ms is too short for a busy machine. The other libraries have none. */
export const GLIDE_TIMEOUT_MS = 30_000;

/** A client as its library makes it, connected. */
export interface Connection {
  readonly client: RedisClient;
  close(): Promise<unknown>;
}

/** How each library connects to the server behind a socket. It is given nothing else. */
export const connect = {
  "ioredis 6": async (socket) => fromIoredis(new Ioredis(socket)),
  "ioredis 5": async (socket) => fromIoredis(new Ioredis5(socket)),
  iovalkey: async (socket) => fromIoredis(new Iovalkey(socket)),
  "node-redis 6": async (socket) => {
    const client = await nodeRedis.createClient({ socket: { path: socket, tls: false } }).connect();
    return { client, close: () => client.close() };
  },
  "node-redis 6, pool": async (socket) => {
    const client = nodeRedis.createClientPool({ socket: { path: socket, tls: false } });
    await client.connect();
    return { client, close: () => client.close() };
  },
  "node-redis 5": async (socket) => {
    const client = await nodeRedis5
      .createClient({ socket: { path: socket, tls: false } })
      .connect();
    return { client, close: () => client.close() };
  },
  "node-redis 5, pool": async (socket) => {
    const client = nodeRedis5.createClientPool({ socket: { path: socket, tls: false } });
    await client.connect();
    return { client, close: () => client.close() };
  },
  /** It knows no sockets. */
  "Valkey GLIDE": async (socket) => {
    const proxy = await startTcpProxy({ socket });
    const addresses = [{ host: "127.0.0.1", port: proxy.port }];
    const client = await GlideClient.createClient({ addresses, requestTimeout: GLIDE_TIMEOUT_MS });
    const close = async (): Promise<void> => {
      client.close();
      await proxy.close();
    };
    return { client, close };
  },
} satisfies Record<string, (socket: string) => Promise<Connection>>;

export type ClientName = keyof typeof connect;

export const clientNames = Object.keys(connect) as ClientName[];

function fromIoredis(client: RedisClient & { quit(): Promise<unknown> }): Connection {
  return { client, close: () => client.quit() };
}
