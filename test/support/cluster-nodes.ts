import type { AdminClient } from "./admin-client.ts";
import type { RedisProcess } from "./redis-process.ts";

export interface ClusterNode {
  readonly port: number;
  /** Its name among the nodes. */
  readonly id: string;
  /** To freeze, thaw, kill and restart it; a restarted node finds its place again, without its keys. */
  readonly process: RedisProcess;
  /** What it was at the start; a failover changes that. */
  readonly startedAs: "primary" | "replica";
  readonly admin: AdminClient;
}

/** What a node says of itself in CLUSTER NODES. */
export interface OwnLine {
  readonly isPrimary: boolean;
  /** The later of two nodes that claim a slot has the larger one. */
  readonly epoch: number;
  serves(slot: number): boolean;
}

/** The epoch that a node gives another one, which may be news to it. */
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
  // A slot under migration is noted in brackets, beside the range it still belongs to.
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
