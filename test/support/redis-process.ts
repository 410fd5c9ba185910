import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";
import { startGuard } from "./process-guard.ts";
import { findRedisServer } from "./redis-binary.ts";

const START_TIMEOUT_MS = 15_000;

export interface RedisProcessOptions {
  /** Listens on 127.0.0.1 too: `true` takes a free port, a number that one. Default: the socket only. */
  readonly port?: boolean | number;
  /** Where to put the socket, to replace a stopped server. Default: a new directory. */
  readonly socket?: string;
  /** Further arguments of the server, as on its command line: `["--maxmemory", "2mb"]`. */
  readonly args?: readonly string[];
  /** Lines of a configuration file that the server may rewrite, as a Sentinel must. Default: no file. */
  readonly config?: readonly string[];
}

export interface RedisProcess {
  /** The path of its unix socket. */
  readonly socket: string;
  /** The TCP port on 127.0.0.1; 0 without one. */
  readonly port: number;
  /** Of the process that runs now, or ran last: a restart changes it. */
  readonly pid: number;
  /** The name and version of the server, such as "redis 7.0.15" or "valkey 8.0.1". */
  readonly version: string;
  /** The state of the process: "ended" after `kill`, until `restart`. */
  readonly state: "running" | "frozen" | "ended";
  /** SIGSTOP: connections stay open, the kernel still accepts new ones, and nothing is answered. */
  freeze(): void;
  /** SIGCONT: the server executes the commands that arrived in the meantime. */
  thaw(): void;
  /** SIGKILL; resolves when the process has ended. Its memory is lost; its port, socket and directory stay reserved. */
  kill(): Promise<void>;
  /** Starts it anew on the same port, socket and directory, with `args` instead of the first ones if given. Kills it first. */
  restart(args?: readonly string[]): Promise<void>;
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
  const config = join(dir, "server.conf");
  if (options.config !== undefined) writeFileSync(config, `${options.config.join("\n")}\n`);
  const guard = startGuard(dir);
  let args = options.args ?? [];
  let server: ChildProcess | undefined;
  let version = "";
  let isFrozen = false;

  async function start(): Promise<void> {
    isFrozen = false;
    server = spawn(
      binary as string,
      // biome-ignore format: one option, one line
      [
        ...(options.config === undefined ? [] : [config]),
        "--port", `${port}`,
        "--bind", "127.0.0.1",
        "--unixsocket", socket,
        "--dir", dir,
        "--logfile", log,
        "--save", "",
        "--appendonly", "no",
        ...args,
      ],
      // A group of its own: ctrl-C must reach the tests first, which may still need the server to end cleanly.
      { stdio: "ignore", detached: true },
    );
    server.unref();
    guard.watch(server);
    try {
      version = await readVersion(server, socket);
    } catch (cause) {
      const reason = lastLines(log);
      await stop();
      throw new Error(`${binary} did not start: ${reason}`, { cause });
    }
  }

  async function kill(): Promise<void> {
    if (server === undefined || hasEnded(server)) return;
    const exit = once(server, "exit");
    server.ref();
    // Nothing is to be saved, and SIGTERM would wait as long as the server is frozen.
    server.kill("SIGKILL");
    await exit;
  }

  async function stop(): Promise<void> {
    await kill();
    guard.end();
    rmSync(dir, { recursive: true, force: true });
  }

  await start();
  return {
    socket,
    port,
    get pid() {
      return server?.pid as number;
    },
    get version() {
      return version;
    },
    get state() {
      if (server === undefined || hasEnded(server)) return "ended";
      return isFrozen ? "frozen" : "running";
    },
    freeze() {
      isFrozen = server?.kill("SIGSTOP") ?? false;
    },
    thaw() {
      server?.kill("SIGCONT");
      isFrozen = false;
    },
    kill,
    async restart(newArgs = args) {
      await kill();
      args = newArgs;
      // A killed server leaves a stale socket.
      rmSync(socket, { force: true });
      await start();
    },
    stop,
  };
}

function hasEnded(server: ChildProcess): boolean {
  return server.pid === undefined || server.exitCode !== null || server.signalCode !== null;
}

/** Resolves when the server replies. No other server uses its socket. */
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

function lastLines(log: string): string {
  try {
    return readFileSync(log, "utf8").trim().split("\n").slice(-3).join(" | ");
  } catch {
    return "it left no log";
  }
}
