import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findRedisServer } from "./redis-binary.ts";

const START_TIMEOUT_MS = 15_000;

export interface RedisProcessOptions {
  /** Listens on 127.0.0.1 too: `true` takes a free port, a number that one. Default: the socket only. */
  readonly port?: boolean | number;
  /** Where to put the socket, to start a server in the place of one that was stopped. Default: a new directory. */
  readonly socket?: string;
  /** Further arguments of the server, as on its command line: `["--maxmemory", "2mb"]`. */
  readonly args?: readonly string[];
}

export interface RedisProcess {
  /** The path of its unix socket. */
  readonly socket: string;
  /** The TCP port on 127.0.0.1; 0 when none was asked for. */
  readonly port: number;
  /** For tests that freeze or kill it. */
  readonly pid: number;
  /** The server's own words, such as "redis 7.0.15" or "valkey 8.0.1". */
  readonly version: string;
  /** Ends it, frozen or not, and removes what it left. Calling it twice does no harm. */
  stop(): Promise<void>;
}

/** Starts a real server that keeps nothing on disk, and that ends with this process however this process ends. */
export async function startRedis(options: RedisProcessOptions = {}): Promise<RedisProcess> {
  const binary = findRedisServer();
  if (binary === undefined) throw new Error("no redis-server or valkey-server was found");
  const dir = mkdtempSync(join(tmpdir(), "headgate-redis-"));
  const socket = options.socket ?? join(dir, "redis.sock");
  const port = options.port === true ? await freePort() : Number(options.port ?? 0);
  const log = join(dir, "server.log");
  const server = spawn(
    binary,
    // biome-ignore format: one option, one line
    [
      "--port", `${port}`,
      "--bind", "127.0.0.1",
      "--unixsocket", socket,
      "--dir", dir,
      "--logfile", log,
      "--save", "",
      "--appendonly", "no",
      ...(options.args ?? []),
    ],
    // A group of its own: ctrl-C must reach the tests first, which may still need the server to end cleanly.
    { stdio: "ignore", detached: true },
  );
  const guard = guardServer(server, dir);

  async function stop(): Promise<void> {
    if (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
      // Nothing is to be saved, and SIGTERM would wait as long as the server is frozen.
      server.kill("SIGKILL");
      await once(server, "exit");
    }
    guard.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }

  try {
    const version = await readVersion(server, socket);
    return { socket, port, pid: server.pid as number, version, stop };
  } catch (cause) {
    const reason = lastLines(log);
    await stop();
    throw new Error(`${binary} did not start: ${reason}`, { cause });
  }
}

/**
 * Ends the server when this process is gone, even killed: a pipe closes with the process that holds it,
 * which no exit handler survives to do.
 */
function guardServer(server: ChildProcess, dir: string): ChildProcess {
  const script = 'read -r _; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn("/bin/sh", ["-c", script, "guard", `${server.pid}`, dir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // A server that ended by itself has given its process id back; the guard must not use it.
  server.once("exit", () => guard.kill("SIGKILL"));
  server.unref();
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return guard;
}

/** Resolves when the server answers; its socket is nobody else's, so the answer is its own. */
async function readVersion(server: ChildProcess, socket: string): Promise<string> {
  const client = new Redis(socket, { retryStrategy: () => 10, maxRetriesPerRequest: null });
  client.on("error", () => {});
  const gone = new AbortController();
  try {
    const info = await Promise.race([
      client.info("server"),
      once(server, "exit", { signal: gone.signal }).then(([code]) => {
        throw new Error(`it ended with code ${code}`);
      }),
      once(AbortSignal.timeout(START_TIMEOUT_MS), "abort", { signal: gone.signal }).then(() => {
        throw new Error(`it did not answer within ${START_TIMEOUT_MS} ms`);
      }),
    ]);
    const [, name = "redis"] = /^server_name:(\S+)/m.exec(info) ?? [];
    const version = new RegExp(`^${name}_version:(\\S+)`, "m").exec(info)?.[1];
    return `${name} ${version}`;
  } finally {
    gone.abort();
    client.disconnect();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}

function lastLines(log: string): string {
  try {
    return readFileSync(log, "utf8").trim().split("\n").slice(-3).join(" | ");
  } catch {
    return "it left no log";
  }
}
