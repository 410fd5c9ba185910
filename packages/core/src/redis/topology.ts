import calculateSlot from "cluster-key-slot";

/** Who has a slot: addresses in ioredis and iovalkey, a shard in node-redis; the primary first. */
type SlotOwner = readonly string[] | { readonly master: { readonly address: string } } | undefined;

/** How the client of a cluster shows where slots are. */
interface ClusterLike {
  readonly slots: readonly SlotOwner[];
  readonly options?: { readonly keyPrefix?: string };
}

/** Which server answers for a key. */
export interface Topology {
  slotOf(key: string): number;
  nodeOf(key: string): string;
}

/** A client that is no cluster's has one server, whatever stands behind it. */
const ONE_SERVER: Topology = { slotOf: () => 0, nodeOf: () => "" };

/** Reads a client's own table of slots, which the client keeps up to date. */
export function topologyOf(client: object): Topology {
  if (!isCluster(client)) return ONE_SERVER;
  // What ioredis puts in front of each key may hold a hash tag.
  const keyPrefix = client.options?.keyPrefix ?? "";
  const slotOf = (key: string): number => calculateSlot(keyPrefix + key);
  return { slotOf, nodeOf: (key) => addressOf(client.slots[slotOf(key)]) };
}

function addressOf(owner: SlotOwner): string {
  if (owner === undefined) return "";
  return ("master" in owner ? owner.master.address : owner[0]) ?? "";
}

function isCluster(client: object): client is ClusterLike {
  return Array.isArray((client as Partial<ClusterLike>).slots);
}
