import type { AdminClient } from "./admin-client.ts";
import type { RedisProcess } from "./redis-process.ts";

export interface ClusterNode {
  readonly port: number;
  /** Its name among the nodes. */
  readonly id: string;
  /** The process, to freeze, thaw, kill and restart. A restarted node rejoins the cluster without its keys. */
  readonly process: RedisProcess;
  /** The role at the start, which a failover changes. */
  readonly startedAs: "primary" | "replica";
  readonly admin: AdminClient;
}

/** The entry of a node in CLUSTER NODES. */
export interface OwnLine {
  readonly isPrimary: boolean;
  /** The later of two nodes that claim a slot has the larger one. */
  readonly epoch: number;
  serves(slot: number): boolean;
}

/** The epoch of a node as another node knows it. */
export async function epochAt(
  node: { readonly admin: AdminClient },
  other: { readonly id: string },
): Promise<number> {
  const lines = String(await node.admin.command("CLUSTER", "NODES")).split("\n");
  return Number(lines.find((line) => line.startsWith(other.id))?.split(" ")[6]);
}

/** https://redis.io/commands/cluster-nodes: id, address, flags, primary, ping, pong, epoch, link, slots. */
export async function ownLine(node: { readonly admin: AdminClient }): Promise<OwnLine> {
  const lines = String(await node.admin.command("CLUSTER", "NODES")).split("\n");
  const fields = lines.find((line) => line.includes("myself"))?.split(" ") ?? [];
  const isPrimary = fields[2]?.includes("master") ?? false;
  // A hash slot under migration is listed in brackets, and in the range of its owner.
  const ranges = fields
    .slice(8)
    .filter((range) => !range.startsWith("["))
    .map((range) => range.split("-").map(Number));
  return {
    isPrimary,
    epoch: Number(fields[6]),
    serves: (slot) =>
      isPrimary && ranges.some(([first = -1, last = first]) => first <= slot && slot <= last),
  };
}
