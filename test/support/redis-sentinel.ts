import type { AdminClient } from "./admin-client.ts";
import { openAdminClient } from "./admin-client.ts";
import type { RedisProcess } from "./redis-process.ts";
import { startRedis } from "./redis-process.ts";
import { waitUntil } from "./wait-until.ts";

const SENTINELS = 3;
const QUORUM = 2;
const READY_TIMEOUT_MS = 20_000;
const FAILOVER_TIMEOUT_MS = 20_000;

export interface SentinelOptions {
  /** Default: 2. */
  readonly replicas?: 1 | 2;
  /** Silence after which a Sentinel calls the primary down. Default: 1,000. */
  readonly downAfterMs?: number;
  /** The failover timeout; a failed failover is retried after twice this. Default: 2,000. */
  readonly failoverTimeoutMs?: number;
  /** Further arguments of each data server. */
  readonly args?: readonly string[];
}

export interface SentinelNode {
  readonly port: number;
  /** To freeze, thaw, kill and restart it. */
  readonly process: RedisProcess;
  readonly admin: AdminClient;
}

export interface RedisSentinel {
  /** The name of the primary among the Sentinels. */
  readonly name: string;
  /** The addresses of the Sentinels in the form of client libraries. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** The data servers; the first one was the primary at the start. */
  readonly nodes: readonly SentinelNode[];
  readonly sentinels: readonly SentinelNode[];
  /** "redis 7.0.15" or "valkey 8.0.1". */
  readonly version: string;
  /** The data server that the Sentinels call the primary. */
  primary(): Promise<SentinelNode>;
  /** Resolves with the primary that took over from the one given, once all Sentinels name it and it takes writes. */
  waitForFailover(from: SentinelNode, withinMs?: number): Promise<SentinelNode>;
  /** All Sentinels know each other and every running data server, and the replicas are synced. */
  waitUntilReady(withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a primary, its replicas and three Sentinels on 127.0.0.1, ready for a failover; they end with this process. */
export async function startSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  const { replicas = 2, args = [] } = options;
  const name = "headgate";
  const nodes: SentinelNode[] = [];
  const sentinels: SentinelNode[] = [];

  async function stop(): Promise<void> {
    const all = [...sentinels, ...nodes];
    for (const node of all) node.admin.close();
    await Promise.all(all.map((node) => node.process.stop()));
  }

  async function primary(): Promise<SentinelNode> {
    const ports = await Promise.all(sentinels.filter(isRunning).map((node) => namedBy(node, name)));
    const [port] = ports;
    if (!ports.every((other) => other === port)) throw new Error(`Sentinels name ports ${ports}`);
    const found = nodes.find((node) => node.port === port);
    if (found === undefined)
      throw new Error(`Sentinels name port ${port}, which belongs to no server`);
    return found;
  }

  async function waitUntilReady(withinMs = READY_TIMEOUT_MS): Promise<void> {
    await waitUntil("Sentinels and replicas are ready", withinMs, async () => {
      const synced = nodes.filter((node) => isRunning(node)).length - 1;
      await checkPrimary(await primary(), synced);
      await Promise.all(
        sentinels.filter(isRunning).map((node) => checkSentinel(node, name, synced)),
      );
      return true;
    });
  }

  try {
    const first = await startNode(args);
    nodes.push(first);
    const replicaArgs = ["--replicaof", "127.0.0.1", `${first.port}`, ...args];
    const config = configOf(name, first.port, options);
    await Promise.all([
      ...Array.from({ length: replicas }, async () => nodes.push(await startNode(replicaArgs))),
      ...Array.from({ length: SENTINELS }, async () => sentinels.push(await startOne({ config }))),
    ]);
    await Promise.all(sentinels.map(hurry));
    await waitUntilReady();
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    name,
    addresses: sentinels.map(({ port }) => ({ host: "127.0.0.1", port })),
    nodes,
    sentinels,
    version: nodes[0]?.process.version ?? "",
    primary,
    waitForFailover: (from, withinMs = FAILOVER_TIMEOUT_MS) =>
      waitUntil(`Sentinels name another primary than port ${from.port}`, withinMs, async () => {
        const successor = await primary();
        if (successor === from) return undefined;
        await checkPrimary(successor, 0);
        return successor;
      }),
    waitUntilReady,
    stop,
  };
}

function isRunning(node: SentinelNode): boolean {
  return node.process.state === "running";
}

async function startNode(args: readonly string[]): Promise<SentinelNode> {
  const quick = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"];
  return startOne({ args: [...quick, ...args] });
}

async function startOne(options: {
  readonly args?: readonly string[];
  readonly config?: readonly string[];
}): Promise<SentinelNode> {
  const server = await startRedis({
    ...options,
    port: true,
    args: options.config === undefined ? (options.args ?? []) : ["--sentinel"],
  });
  return { port: server.port, process: server, admin: openAdminClient(server) };
}

function configOf(name: string, port: number, options: SentinelOptions): readonly string[] {
  const { downAfterMs = 1_000, failoverTimeoutMs = 2_000 } = options;
  return [
    `sentinel monitor ${name} 127.0.0.1 ${port} ${QUORUM}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} ${failoverTimeoutMs}`,
    `sentinel parallel-syncs ${name} 2`,
  ];
}

/**
 * Sentinels announce themselves every two seconds and query roles every ten, which is long for a test. With a ping interval equal
 * to the down time, one late reply causes a failover. And a replica is eligible only if it was queried within five pings, which
 * must therefore be longer than the second between queries while the primary is down.
 */
async function hurry(sentinel: SentinelNode): Promise<void> {
  const periods = ["INFO-PERIOD", 500, "PUBLISH-PERIOD", 200, "PING-PERIOD", 400] as const;
  await sentinel.admin.command("SENTINEL", "DEBUG", ...periods);
}

async function namedBy(sentinel: SentinelNode, name: string): Promise<number> {
  const address = await sentinel.admin.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
  return Number((address as readonly string[])[1]);
}

async function checkPrimary(node: SentinelNode, synced: number): Promise<void> {
  const info = String(await node.admin.command("INFO", "replication"));
  if (!info.includes("role:master")) throw new Error(`port ${node.port} is no primary yet`);
  const online = info.match(/state=online/g)?.length ?? 0;
  if (online < synced) throw new Error(`port ${node.port} has ${online} synced replicas`);
}

async function checkSentinel(
  sentinel: SentinelNode,
  name: string,
  replicas: number,
): Promise<void> {
  const fields = (await sentinel.admin.command("SENTINEL", "MASTER", name)) as readonly string[];
  const read = (field: string) => fields[fields.indexOf(field) + 1];
  const others = Number(read("num-other-sentinels"));
  const known = Number(read("num-slaves"));
  if (read("flags") !== "master" || others !== SENTINELS - 1 || known < replicas) {
    throw new Error(
      `Sentinel ${sentinel.port}: ${others} other Sentinels, ${known} replicas, ${read("flags")}`,
    );
  }
}
