import { openAdminClient } from "./admin-client.ts";
import type { ClusterNode } from "./cluster-nodes.ts";
import { ownLine } from "./cluster-nodes.ts";
import { freePort } from "./free-port.ts";
import { startRedis } from "./redis-process.ts";
import type { SlotMigration } from "./slot-migration.ts";
import { beginSlotMigration } from "./slot-migration.ts";
import { waitUntil } from "./wait-until.ts";

const SLOTS = 16_384;
const READY_TIMEOUT_MS = 20_000;
const FAILOVER_TIMEOUT_MS = 15_000;

export interface ClusterOptions {
  /** Default: 3. With fewer than three, no majority can start a failover. */
  readonly primaries?: number;
  /** Of each primary. Default: 0. */
  readonly replicas?: 0 | 1;
  /** Silence after which nodes call one of them failed. Default: 1,000. */
  readonly nodeTimeoutMs?: number;
  /** Redis' own default refuses everything (CLUSTERDOWN) as long as one slot has no primary. Default here: false. */
  readonly requireFullCoverage?: boolean;
  /** Further arguments of each server. */
  readonly args?: readonly string[];
}

export interface RedisCluster {
  /** Primaries first, in the order of their slots; then the replicas, in the order of their primaries. */
  readonly nodes: readonly ClusterNode[];
  /** As client libraries want them. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** "redis 7.0.15" or "valkey 8.0.1". */
  readonly version: string;
  slotOf(key: string): Promise<number>;
  /** The running node that claims a hash slot; of two, the one with the later epoch. */
  primaryOf(slot: number): Promise<ClusterNode>;
  /** The running node that serves a key. */
  nodeOf(key: string): Promise<ClusterNode>;
  replicaOf(primary: ClusterNode): ClusterNode;
  /** All running nodes agree that all is well: slots served, replicas synced. */
  waitUntilReady(withinMs?: number): Promise<void>;
  /** Resolves with the node that took the slot over from the one given, once it serves. */
  waitForFailover(slot: number, from: ClusterNode, withinMs?: number): Promise<ClusterNode>;
  /** Opens a migration and leaves it open: keys there answer, keys not there ASK, some of each TRYAGAIN. */
  beginMigration(slot: number, to: ClusterNode): Promise<SlotMigration>;
  /** Moves a slot with its keys, from the beginning to the end. */
  migrate(slot: number, to: ClusterNode): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a cluster on 127.0.0.1 that is ready, and ends with this process. */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { primaries = 3, replicas = 0 } = options;
  const total = primaries * (1 + replicas);
  const started = await Promise.allSettled(
    Array.from({ length: total }, (_, index) => startNode(options, index < primaries)),
  );
  const nodes = started.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const failed = started.find((start) => start.status === "rejected");

  async function stop(): Promise<void> {
    for (const node of nodes) node.admin.close();
    await Promise.all(nodes.map((node) => node.process.stop()));
  }

  const running = () => nodes.filter((node) => node.process.state === "running");
  const ofPrimaries = nodes.slice(0, primaries);

  async function primaryOf(slot: number): Promise<ClusterNode> {
    const lines = await Promise.all(
      running().map(async (node) => ({ node, line: await ownLine(node) })),
    );
    const [latest] = lines
      .filter(({ line }) => line.serves(slot))
      .sort((left, right) => right.line.epoch - left.line.epoch);
    if (latest === undefined) throw new Error(`no running node serves slot ${slot}`);
    return latest.node;
  }

  async function slotOf(key: string): Promise<number> {
    return Number(await running()[0]?.admin.command("CLUSTER", "KEYSLOT", key));
  }

  async function waitUntilReady(withinMs = READY_TIMEOUT_MS): Promise<void> {
    await waitUntil("all nodes of the cluster are ready", withinMs, async () => {
      await Promise.all(running().map((node) => checkReady(node, total)));
      return true;
    });
  }

  async function beginMigration(slot: number, to: ClusterNode): Promise<SlotMigration> {
    const from = await primaryOf(slot);
    return beginSlotMigration(slot, from, to, running);
  }

  try {
    if (failed !== undefined) throw failed.reason;
    await meet(nodes);
    await assignSlots(ofPrimaries);
    await follow(nodes, primaries);
    await waitUntilReady();
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    nodes,
    addresses: nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    version: nodes[0]?.process.version ?? "",
    slotOf,
    primaryOf,
    nodeOf: async (key) => primaryOf(await slotOf(key)),
    replicaOf(primary) {
      const replica = nodes[nodes.indexOf(primary) + primaries];
      if (replica === undefined) throw new Error(`port ${primary.port} has no replica`);
      return replica;
    },
    waitUntilReady,
    waitForFailover: (slot, from, withinMs = FAILOVER_TIMEOUT_MS) =>
      waitUntil(`slot ${slot} has another primary`, withinMs, async () => {
        const primary = await primaryOf(slot);
        if (primary === from) throw new Error(`port ${from.port} still serves it`);
        const info = String(await primary.admin.command("CLUSTER", "INFO"));
        return info.includes("cluster_state:ok") ? primary : undefined;
      }),
    beginMigration,
    async migrate(slot, to) {
      const migration = await beginMigration(slot, to);
      await migration.moveAllKeys();
      await migration.finish();
    },
    stop,
  };
}

async function startNode(options: ClusterOptions, isPrimary: boolean): Promise<ClusterNode> {
  const { nodeTimeoutMs = 1_000, requireFullCoverage = false, args = [] } = options;
  const server = await startRedis({
    port: true,
    // biome-ignore format: one option, one line
    args: [
      "--cluster-enabled", "yes",
      "--cluster-config-file", "nodes.conf",
      "--cluster-port", `${await freePort()}`,
      "--cluster-node-timeout", `${nodeTimeoutMs}`,
      "--cluster-require-full-coverage", requireFullCoverage ? "yes" : "no",
      "--cluster-allow-replica-migration", "no",
      "--cluster-replica-validity-factor", "0",
      "--repl-diskless-sync-delay", "0",
      "--repl-ping-replica-period", "1",
      ...args,
    ],
  });
  const admin = openAdminClient(server);
  const id = String(await admin.command("CLUSTER", "MYID"));
  return {
    port: server.port,
    id,
    process: server,
    startedAs: isPrimary ? "primary" : "replica",
    admin,
  };
}

/** Introduces each node to each other, which is faster than waiting for gossip. */
async function meet(nodes: readonly ClusterNode[]): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    // Nodes with equal epochs would need time to resolve the conflict.
    await node.admin.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
  }
  const busPorts = await Promise.all(nodes.map(readBusPort));
  for (const node of nodes) {
    for (const [index, other] of nodes.entries()) {
      if (other === node) continue;
      await node.admin.command(
        "CLUSTER",
        "MEET",
        "127.0.0.1",
        other.port,
        busPorts[index] as number,
      );
    }
  }
}

async function readBusPort(node: ClusterNode): Promise<number> {
  const [, port] = (await node.admin.command("CONFIG", "GET", "cluster-port")) as [string, string];
  return Number(port);
}

async function assignSlots(primaries: readonly ClusterNode[]): Promise<void> {
  const share = SLOTS / primaries.length;
  for (const [index, node] of primaries.entries()) {
    const first = Math.round(index * share);
    const last = Math.round((index + 1) * share) - 1;
    await node.admin.command("CLUSTER", "ADDSLOTSRANGE", first, last);
  }
}

async function follow(nodes: readonly ClusterNode[], primaries: number): Promise<void> {
  for (const [index, replica] of nodes.entries()) {
    const primary = nodes[index - primaries];
    if (primary === undefined) continue;
    await waitUntil("a replica knows its primary", READY_TIMEOUT_MS, () =>
      replica.admin.command("CLUSTER", "REPLICATE", primary.id),
    );
  }
}

async function checkReady(node: ClusterNode, total: number): Promise<void> {
  const cluster = String(await node.admin.command("CLUSTER", "INFO"));
  for (const wanted of ["cluster_state:ok", "cluster_slots_ok:16384"]) {
    if (!cluster.includes(wanted)) throw new Error(`not yet ${wanted} at port ${node.port}`);
  }
  const lines = String(await node.admin.command("CLUSTER", "NODES"))
    .trim()
    .split("\n");
  if (lines.length !== total || /handshake|fail/.test(lines.join())) {
    throw new Error(`port ${node.port} knows these nodes: ${lines.join(" | ")}`);
  }
  const replication = String(await node.admin.command("INFO", "replication"));
  if (replication.includes("role:slave") && !replication.includes("master_link_status:up")) {
    throw new Error(`the replica at port ${node.port} is not synced`);
  }
}
