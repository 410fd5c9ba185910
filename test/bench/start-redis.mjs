import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

/**
 * Starts a Redis that ends with this process, on loopback and on a socket; `connect` opens clients of the socket that wait
 * for it. `under` is a program to run it in, with its arguments.
 */
export async function startRedis({ args = [], under = [] } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "bench-"));
  const socket = join(dir, "redis.sock");
  const port = await freePort();
  const binary = process.env["HEADGATE_REDIS_SERVER"] || "redis-server";
  const [program, ...rest] = [...under, binary];
  const server = spawn(
    program,
    // biome-ignore format: one option, one line
    [
      ...rest,
      "--port", String(port),
      "--bind", "127.0.0.1",
      "--unixsocket", socket,
      "--save", "",
      "--dir", dir,
      ...args,
    ],
    { stdio: "ignore", cwd: dir },
  );
  const end = () => {
    server.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  };
  process.once("exit", end);
  const clients = [];

  function connect() {
    const client = new Redis(socket, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    client.on("error", () => {});
    clients.push(client);
    return client;
  }

  async function close() {
    process.off("exit", end);
    for (const client of clients) client.disconnect();
    const exit = once(server, "exit");
    end();
    await exit;
  }

  const control = connect();
  await control.ping();
  return { connect, control, port, dir, pid: server.pid, close };
}

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** What clients called since the last `CONFIG RESETSTAT`, by the server's own account: calls, and microseconds in them. */
export async function scriptTime(control) {
  const info = await control.info("commandstats");
  const found = [...info.matchAll(/^cmdstat_(\w+):calls=(\d+),usec=(\d+)/gm)].map(
    ([, command, calls, microseconds]) => ({
      command,
      calls: Number(calls),
      microseconds: Number(microseconds),
    }),
  );
  const scripts = found.filter(({ command }) => ["evalsha", "eval"].includes(command));
  // Commands within scripts have their own lines, too: INCR counts only if no script ran.
  const counted = scripts.length > 0 ? scripts : found.filter(({ command }) => command === "incr");
  return {
    calls: counted.reduce((total, { calls }) => total + calls, 0),
    microseconds: counted.reduce((total, { microseconds }) => total + microseconds, 0),
  };
}

/** The processor time that the server has used so far, in microseconds: for scripts, and for reading and writing. */
export async function cpuOf(control) {
  const info = await control.info("cpu");
  const seconds = [...info.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, text]) =>
    Number(text),
  );
  if (seconds.length !== 2) throw new Error(`INFO cpu has no processor time: ${info}`);
  return seconds.reduce((total, one) => total + one, 0) * 1e6;
}
