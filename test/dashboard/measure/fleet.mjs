// The demo's shop of two processes under traffic, and a dashboard. All of its processes end with this one.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startRedis } from "../../../examples/demo/redis.mjs";
import { startTraffic } from "../../../examples/demo/traffic.mjs";

const application = join(import.meta.dirname, "../../../examples/demo/application.mjs");

/** Resolves with the URL of the dashboard, a function that measures its server's memory, and one that stops all processes. */
export async function startFleet() {
  const redis = await startRedis();
  if (redis === undefined) throw new Error("no redis-server or valkey-server was found");
  const shop = ["fastify", "express"].map((framework) => fork(application, [framework, redis.url]));
  const server = fork(join(import.meta.dirname, "server.mjs"), [redis.url], {
    execArgv: ["--expose-gc"],
  });
  const [port, ...ports] = await Promise.all([server, ...shop].map(nextMessage));
  const stopTraffic = startTraffic(ports);
  const url = `http://127.0.0.1:${port}/`;
  await untilListed(url, shop.length);
  return {
    url,
    async memory() {
      server.send("measure");
      return nextMessage(server);
    },
    async end() {
      stopTraffic();
      for (const child of [server, ...shop]) {
        const exit = child.exitCode ?? once(child, "exit");
        child.disconnect();
        await exit;
      }
      redis.end();
    },
  };
}

/** Resolves when all limiters are listed, which takes ten seconds, and their decisions are counted. */
async function untilListed(url, shop) {
  for (;;) {
    const { limiters } = await (await fetch(`${url}api/overview`)).json();
    const known = limiters?.filter(
      ({ processes, totals }) => processes === shop && totals.allowed + totals.denied > 0,
    );
    if (known?.length === 3) return;
    await delay(500);
  }
}

async function nextMessage(child) {
  const [message] = await once(child, "message");
  return message;
}
