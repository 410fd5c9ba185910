import { Redis } from "ioredis";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import type { ServerEndpoint } from "../endpoint.ts";
import type { Target } from "./fault.ts";

/** A single Redis server. */
export interface ServerTarget extends Target {
  readonly endpoint: ServerEndpoint;
  readonly server: RedisProcess;
  readonly admin: Redis;
}

/** A single Redis server behind a TCP proxy. */
export interface ProxiedTarget extends ServerTarget {
  readonly proxy: TcpProxy;
}

export async function startServer(args: readonly string[] = []): Promise<ServerTarget> {
  const server = await startRedis({ port: true, args });
  // The Unix socket bypasses every proxy, and accepts connections as soon as the server runs again.
  const admin = new Redis(server.socket, { retryStrategy: () => 10, maxRetriesPerRequest: null });
  admin.on("error", () => {});
  return {
    endpoint: { kind: "server", port: server.port },
    server,
    admin,
    async close() {
      admin.disconnect();
      await server.stop();
    },
  };
}

export async function startProxied(): Promise<ProxiedTarget> {
  const target = await startServer();
  const proxy = await startTcpProxy({ socket: target.server.socket });
  return {
    ...target,
    endpoint: { kind: "server", port: proxy.port },
    proxy,
    async close() {
      await proxy.close();
      await target.close();
    },
  };
}
