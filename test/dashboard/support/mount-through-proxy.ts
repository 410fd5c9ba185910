import { redisStore } from "@headgate/core/redis";
import type { DashboardOptions } from "@headgate/dashboard";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import type { RedisProcess } from "../../support/redis-process.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { nodeMount } from "./mounts.ts";

/** A page for eve, who may take every action, with a connection to Redis that can be held. */
export async function mountThroughProxy(
  { socket }: Pick<RedisProcess, "socket">,
  more: Pick<DashboardOptions, "createBreaker" | "storeTimeout"> = {},
): Promise<{ readonly page: string; readonly proxy: TcpProxy }> {
  const proxy = await startTcpProxy({ socket });
  onTestFinished(() => proxy.close());
  const client = new Redis(proxy.port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  const page = await nodeMount.mount({
    store: redisStore(client, { prefix: "fleet" }),
    authorize: () => ({ by: "eve", actions: "all" }),
    storeTimeout: "300ms",
    ...more,
  });
  return { page, proxy };
}
