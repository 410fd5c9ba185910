import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import type { Permission } from "@headgate/dashboard";
import { dashboard } from "@headgate/dashboard";
import { Redis } from "ioredis";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";

const DEMO = join(import.meta.dirname, "../../../examples/demo");

interface Traffic {
  /** Sends requests to applications on these ports; returns a function that stops. */
  startTraffic(ports: readonly number[]): () => void;
}

/** The demo's shop with two processes and its own Redis under traffic, and a dashboard. */
export interface LiveFleet {
  readonly url: string;
  readonly redis: RedisProcess;
  /** The visitor's permission from now on. */
  permission: Permission;
  /** Stops the dashboard's server like a crash. */
  down(): Promise<void>;
  /** Starts the dashboard's server again on the same port. */
  up(): Promise<void>;
  close(): Promise<void>;
}

export async function startLiveFleet(): Promise<LiveFleet> {
  const redis = await startRedis();
  const shop = ["fastify", "express"].map((framework) =>
    fork(join(DEMO, "application.mjs"), [framework, redis.socket], { execArgv: [] }),
  );
  const { startTraffic } = (await import(join(DEMO, "traffic.mjs"))) as Traffic;
  const stopTraffic = startTraffic(await Promise.all(shop.map(portOf)));
  const client = new Redis(redis.socket, { retryStrategy: () => 100 });
  client.on("error", () => {});
  let permission: Permission = "read";
  const handle = dashboard({
    store: redisStore(client),
    createBreaker,
    storeTimeout: "1s",
    authorize: () => permission,
  });
  const listen = async (port: number): Promise<Server> => {
    const made = createServer((request, response) => handle(request, response));
    made.listen(port, "127.0.0.1");
    await once(made, "listening");
    return made;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const down = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}/`,
    redis,
    get permission() {
      return permission;
    },
    set permission(given) {
      permission = given;
    },
    down,
    async up() {
      server = await listen(port);
    },
    async close() {
      stopTraffic();
      await Promise.all([down(), ...shop.map(end)]);
      client.disconnect();
      await redis.stop();
    },
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  const [port] = (await once(child, "message")) as [number];
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, "exit");
  child.disconnect();
  await exit;
}
