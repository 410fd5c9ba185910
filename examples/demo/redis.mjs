// A Redis that ends with this process: on a free port of this machine, without a file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { Redis } from "ioredis";

/** By name, in the order in which they are tried; HEADGATE_REDIS_SERVER names another one. */
const SERVERS = ["redis-server", "valkey-server"];

/** Resolves with the URL of a server and how to end it; undefined if there is no server to start. */
export async function startRedis() {
  const named = process.env["HEADGATE_REDIS_SERVER"];
  for (const server of named ? [named] : SERVERS) {
    const port = await freePort();
    const child = spawn(server, ["--port", `${port}`, "--bind", "127.0.0.1", "--save", ""], {
      stdio: "ignore",
      // Ctrl-C is for this process, which ends the server last.
      detached: true,
    });
    const isThere = await once(child, "spawn").then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const end = () => void child.kill("SIGKILL");
    process.once("exit", end);
    const url = `redis://127.0.0.1:${port}`;
    await answers(url);
    return { url, end };
  }
  return undefined;
}

/** @param {string} url */
async function answers(url) {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => {});
  await client.ping();
  client.disconnect();
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}
