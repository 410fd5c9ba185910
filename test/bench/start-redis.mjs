import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

/** Starts a Redis that ends with this process, on a socket; `connect` opens clients that wait for it. */
export async function startRedis() {
  const dir = mkdtempSync(join(tmpdir(), "bench-"));
  const socket = join(dir, "redis.sock");
  const server = spawn(
    "redis-server",
    ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir],
    { stdio: "ignore" },
  );
  process.once("exit", () => {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });
  const connect = () => new Redis(socket, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  const control = connect();
  control.on("error", () => {});
  await control.ping();
  return { connect, control };
}
