import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

/** Starts a Redis on a socket that keeps nothing on disk, that can be killed and started again, and that ends with this process. */
export async function startServer() {
  const dir = mkdtempSync(join(tmpdir(), "headgate-peers-"));
  const socket = join(dir, "redis.sock");
  const binary = process.env["HEADGATE_REDIS_SERVER"] || "redis-server";
  let server;

  async function restart() {
    const args = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir];
    server = spawn(binary, args, { stdio: "ignore" });
    const client = new Redis(socket, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    client.on("error", () => {});
    await client.ping();
    client.disconnect();
  }

  async function kill() {
    const exit = once(server, "exit");
    server.kill("SIGKILL");
    await exit;
  }

  function remove() {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }

  async function close() {
    process.off("exit", remove);
    await kill();
    remove();
  }

  process.once("exit", remove);
  await restart();
  return { socket, kill, restart, close };
}
