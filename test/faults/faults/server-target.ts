import { Redis } from "ioredis";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import type { ServerPlace } from "../place.ts";
import type { Target } from "./fault.ts";

/** One server. */
export interface ServerTarget extends Target {
  readonly place: ServerPlace;
  readonly server: RedisProcess;
  readonly admin: Redis;
}

/** One server that clients reach through a proxy. */
export interface ProxiedTarget extends ServerTarget {
  readonly proxy: TcpProxy;
}

export async function startServer(args: readonly string[] = []): Promise<ServerTarget> {
  const server = await startRedis({ port: true, args });
  // Its socket passes by every proxy, and is there again as soon as the server is.
  const admin = new Redis(server.socket, { retryStrategy: () => 10, maxRetriesPerRequest: null });
  admin.on("error", () => {});
  return {
    place: { kind: "server", port: server.port },
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
    place: { kind: "server", port: proxy.port },
    proxy,
    async close() {
      await proxy.close();
      await target.close();
    },
  };
}
