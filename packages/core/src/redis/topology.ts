import calculateSlot from "cluster-key-slot";
import { clientPart } from "../base/client-state.ts";
import type { Remote } from "../store/store.ts";
import type { GlideCluster } from "./glide-slots.ts";
import { glideSlotsOf, isGlideCluster } from "./glide-slots.ts";

/** The servers of a slot: addresses in ioredis and iovalkey, a shard in node-redis; the primary first. */
type SlotOwner = readonly string[] | { readonly master?: Master } | undefined;

interface Master {
  readonly address: string;
}

/** How the client of a cluster shows where slots are. */
interface ClusterLike {
  readonly slots: readonly SlotOwner[];
  /** ioredis and iovalkey: reads the table anew from any server that answers within a second. */
  refreshSlotsCache?(callback: () => void): void;
  /** node-redis: reads it anew from the server of a client. */
  readonly _slots?: { rediscover(client: unknown): Promise<unknown> };
  readonly masters?: readonly Master[];
  nodeClient?(master: Master): Promise<unknown>;
}

/** Which server answers for a key, and which keys can go in one script. */
export interface Topology extends Pick<Remote, "slotOf" | "nodeOf" | "refresh"> {
  /**
   * Equal for keys that may go in one script. With a plain client any may, until its server is known to have slots, and then
   * those of one slot. With a cluster's, where few keys share a slot, only a key with itself: while a slot is moved, some keys
   * of a script may be here and some there, and that is TRYAGAIN, which ioredis hears for 1.6 s before it tells.
   */
  scriptOf(key: string): string;
  /** Whether all keys may go in one script, as far as is known: `scriptOf` is empty then. */
  readonly isWhole: boolean;
  /** Whether the client follows MOVED and ASK. */
  readonly followsCluster: boolean;
  /** Notes that the server refused a script because of the slots of its keys. */
  noteRefused(keys: readonly string[]): void;
}

/** How a client of ioredis or iovalkey looks that asks Sentinels for the primary. */
interface SentinelLike {
  readonly status: string;
  readonly options: { readonly sentinels: readonly unknown[] };
  disconnect(reconnect: boolean): void;
}

/** A primary that is silent for longer may have been replaced. */
const RECONNECT_MS = 5_000;

/** Reads a client's own table of slots, which the client keeps up to date. */
export function topologyOf(client: object): Topology {
  if (isGlideCluster(client)) return glideTopologyOf(client);
  if (!isCluster(client)) return plainTopologyOf(client);
  const slotOf = slotsOf(client);
  return {
    slotOf,
    nodeOf: (key) => addressOf(client.slots[slotOf(key)]),
    refresh: refreshes(client),
    ...OF_CLUSTER,
  };
}

/** What holds for every client of a cluster. */
const OF_CLUSTER = {
  scriptOf: (key: string) => key,
  isWhole: false,
  followsCluster: true,
  noteRefused() {},
} as const;

function glideTopologyOf(client: GlideCluster): Topology {
  const slots = glideSlotsOf(client);
  return {
    slotOf: calculateSlot,
    nodeOf: (key) => slots.ownerOf(key),
    refresh: (down) => slots.refresh(down),
    ...OF_CLUSTER,
  };
}

/**
 * A client of one server. That server may be in cluster mode and have all slots, as many managed services
 * offer: it takes every key, but no script with keys of several slots. Neither client nor server says so before the first
 * such script is refused. A proxy may have its own slots; if it refuses keys of one slot, each goes by itself.
 */
const plainTopologyOf = clientPart("topology", (client: object): Topology => {
  const slotOf = slotsOf(client);
  let goesAlone = false;
  const topology = {
    isWhole: true,
    slotOf: (key: string) => (topology.isWhole ? 0 : slotOf(key)),
    nodeOf: () => "",
    scriptOf(key: string) {
      if (topology.isWhole) return "";
      return goesAlone ? key : String(slotOf(key));
    },
    followsCluster: false,
    noteRefused(keys: readonly string[]) {
      topology.isWhole = false;
      if (new Set(keys.map(slotOf)).size === 1) goesAlone = true;
    },
    refresh: isSentinel(client) ? reconnects(client) : () => {},
  };
  return topology;
});

/** The prefix that ioredis puts before each key may hold a hash tag. */
function slotsOf(client: object): (key: string) => number {
  const { options } = client as { readonly options?: { readonly keyPrefix?: string } };
  const keyPrefix = options?.keyPrefix ?? "";
  return (key) => calculateSlot(keyPrefix + key);
}

/**
 * Lets a client read its table again. Clients do so by themselves when a connection breaks or a server answers MOVED; a server
 * that is frozen causes neither, even if another one has long taken its place. What fails is tried again later.
 */
function refreshes(client: ClusterLike): (down: ReadonlySet<string>) => void {
  /** Servers that have not answered yet: no more is sent to them. */
  const pinged = new Set<string>();

  async function ping(master: Master): Promise<object> {
    pinged.add(master.address);
    try {
      const node = (await client.nodeClient?.(master)) as { ping(): Promise<unknown> };
      await node.ping();
      return node;
    } finally {
      pinged.delete(master.address);
    }
  }

  /** Only from a server that answers: node-redis would wait for another one, and for nothing else after that. */
  async function rediscover(masters: readonly Master[]): Promise<void> {
    await client._slots?.rediscover(await Promise.any(masters.map(ping)));
  }

  return (down) => {
    client.refreshSlotsCache?.(() => {});
    const others = client.masters?.filter(
      ({ address }) => !down.has(address) && !pinged.has(address),
    );
    if (others !== undefined) void rediscover(others).catch(() => {});
  };
}

/**
 * Lets a client ask its Sentinels again. It does so only when it connects, and the connection to a frozen primary
 * stays open, even if another one has long taken its place.
 */
function reconnects(client: SentinelLike): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - last < RECONNECT_MS || !["connect", "ready"].includes(client.status)) return;
    last = now;
    client.disconnect(true);
  };
}

function addressOf(owner: SlotOwner): string {
  if (owner === undefined) return "";
  return ("master" in owner ? owner.master?.address : (owner as readonly string[])[0]) ?? "";
}

function isSentinel(client: object): client is SentinelLike {
  const { options, disconnect } = client as Partial<SentinelLike>;
  return Array.isArray(options?.sentinels) && typeof disconnect === "function";
}

function isCluster(client: object): client is ClusterLike {
  return Array.isArray((client as Partial<ClusterLike>).slots);
}
