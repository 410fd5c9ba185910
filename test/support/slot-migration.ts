import type { ClusterNode } from "./cluster-nodes.ts";
import { epochAt, ownLine } from "./cluster-nodes.ts";
import { waitUntil } from "./wait-until.ts";

const BATCH = 100;
const MIGRATE_TIMEOUT_MS = 5_000;
const GOSSIP_TIMEOUT_MS = 10_000;

/** A hash slot in migration. Until `finish` or `cancel` the source serves the keys it has, and replies ASK for others. */
export interface SlotMigration {
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  /** The keys of the slot that have not moved. */
  keysLeft(): Promise<readonly string[]>;
  /** Moves these keys, which must be of the slot. */
  moveKeys(keys: readonly string[]): Promise<void>;
  moveAllKeys(): Promise<void>;
  /** Gives the slot to its new node and reports all primaries. Keys that were not moved are lost to clients. */
  finish(): Promise<void>;
  /** Leaves the slot where it was. Keys that were moved are lost to clients. */
  cancel(): Promise<void>;
}

/** The steps that `redis-cli --cluster reshard` takes. */
export async function beginSlotMigration(
  slot: number,
  from: ClusterNode,
  to: ClusterNode,
  running: () => readonly ClusterNode[],
): Promise<SlotMigration> {
  if (from === to) throw new Error(`slot ${slot} is at port ${to.port} already`);
  await to.admin.command("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
  await from.admin.command("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id);

  async function keysLeft(): Promise<readonly string[]> {
    return (await from.admin.command("CLUSTER", "GETKEYSINSLOT", slot, 100_000)) as string[];
  }

  async function moveKeys(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += BATCH) {
      const batch = keys.slice(start, start + BATCH);
      const target = ["127.0.0.1", to.port, "", 0, MIGRATE_TIMEOUT_MS] as const;
      await from.admin.command("MIGRATE", ...target, "KEYS", ...batch);
    }
  }

  return {
    from,
    to,
    keysLeft,
    moveKeys,
    async moveAllKeys() {
      // Keys may come into being at the source only by a script that has others there.
      for (let keys = await keysLeft(); keys.length > 0; keys = await keysLeft()) {
        await moveKeys(keys);
      }
    },
    async finish() {
      // The new node first, because clients get errors while a hash slot has no owner.
      await to.admin.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
      await from.admin.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
      for (const node of running()) {
        if (node === to || node === from || !(await ownLine(node)).isPrimary) continue;
        await node.admin.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
      }
      // The new owner has the latest epoch. A node that does not know it would choose the same one for the next hash slot, and
      // while the two resolve the conflict, a hash slot may lose its owner.
      const { epoch } = await ownLine(to);
      await waitUntil("all nodes know of the slot's new owner", GOSSIP_TIMEOUT_MS, async () => {
        const epochs = await Promise.all(running().map((node) => epochAt(node, to)));
        return epochs.every((known) => known >= epoch) ? true : undefined;
      });
    },
    async cancel() {
      await from.admin.command("CLUSTER", "SETSLOT", slot, "STABLE");
      await to.admin.command("CLUSTER", "SETSLOT", slot, "STABLE");
    },
  };
}
