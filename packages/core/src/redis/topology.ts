import calculateSlot from "cluster-key-slot";
import { background } from "../common/background.ts";
import { shareByClient } from "../common/client-state.ts";
import type { ScriptTransport } from "../store/store.ts";
import { glideHashSlotsOf, isGlideCluster } from "./glide.ts";

/** The servers of a hash slot: addresses in ioredis and iovalkey, a shard in node-redis; the primary first. */
type HashSlotOwner = readonly string[] | { readonly master?: Master } | undefined;

interface Master {
  readonly address: string;
}

/** How a cluster client exposes its table of hash slots. */
interface ClusterLike {
  readonly slots: readonly HashSlotOwner[];
  /** ioredis and iovalkey: reloads the table from any server that answers within a second. */
  refreshSlotsCache?(callback: () => void): void;
  /** node-redis: reloads it from the server of a client. */
  readonly _slots?: { rediscover(client: unknown): Promise<unknown> };
  readonly masters?: readonly Master[];
  nodeClient?(master: Master): Promise<unknown>;
}

/** Which server answers for a key, and which keys can go in one script. */
export interface Topology
  extends Pick<ScriptTransport, "hashSlotOf" | "nodeOf" | "refreshTopology"> {
  /**
   * Equal for keys that may be in one script. With a single-server client, all keys may, until a script is rejected with
   * CROSSSLOT; then, those of one hash slot. With a cluster client, the keys of one server may be in a script that declares only
   * one of them, and equal keys in any script.
   */
  scriptGroupOf(key: string): string;
  /** Whether all keys may be in one script, as far as this process knows: `scriptGroupOf` is empty then. */
  readonly canMixKeys: boolean;
  /** Whether the client follows MOVED and ASK. */
  readonly followsCluster: boolean;
  /** Records that the server rejected a script with CROSSSLOT. */
  onCrossSlot(keys: readonly string[]): void;
  /**
   * With a cluster client: the name of a key on its server, for scripts that do not declare the key. Servers allow that for keys of
   * any hash slot that they own. Undefined if no script may do so.
   */
  readonly undeclaredKeyOf?: ((key: string) => string) | undefined;
  /**
   * Records whether such a script ran or was rejected. If the first one is, or several in a row, the servers or a proxy do not
   * allow them, or many hash slots are being moved: no script may do so for a minute.
   */
  onUndeclaredKeys(isAllowed: boolean): void;
}

/** The shape of an ioredis or iovalkey client that finds the primary through Sentinels. */
interface SentinelLike {
  readonly status: string;
  readonly options: { readonly sentinels: readonly unknown[] };
  disconnect(reconnect: boolean): void;
}

/** Scripts with undeclared keys that may be rejected in a row, after one that ran: they are if one of their keys is being moved. */
const MAX_REJECTED = 8;

/** How long all keys of a script are declared after that. */
const REJECTED_MS = 60_000;

/** A primary that is silent for longer may have been replaced. */
const RECONNECT_MS = 5_000;

/** Reads a client's own table of hash slots, which the client keeps up to date. */
export const topologyOf: (client: object) => Topology = shareByClient(
  "topology",
  (client: object): Topology => {
    if (isGlideCluster(client)) {
      const slots = glideHashSlotsOf(client);
      return createClusterTopology(client, {
        nodeOf: (key) => slots.ownerOf(key),
        refreshTopology: (down) => slots.refresh(down),
        onRejected: () => slots.onMissingKey(),
      });
    }
    if (!isCluster(client)) return createServerTopology(client);
    const hashSlotOf = createHashSlotOf(client);
    return createClusterTopology(client, {
      nodeOf: (key) => addressOf(client.slots[hashSlotOf(key)]),
      refreshTopology: createRefresh(client),
    });
  },
);

interface ClusterServers extends Pick<Topology, "nodeOf" | "refreshTopology"> {
  /** Called when a script with undeclared keys is rejected, for a client whose table nothing else would update then. */
  onRejected?(): void;
}

function createClusterTopology(
  client: object,
  { nodeOf, refreshTopology, onRejected }: ClusterServers,
): Topology {
  const keyPrefix = keyPrefixOf(client);
  const withPrefix = (key: string): string => keyPrefix + key;
  let rejectionsLeft = 1;
  const tryAgain = (): void => {
    topology.undeclaredKeyOf = withPrefix;
  };
  const topology = {
    nodeOf,
    refreshTopology,
    hashSlotOf: createHashSlotOf(client),
    scriptGroupOf: (key: string): string => (topology.undeclaredKeyOf && nodeOf(key)) || key,
    canMixKeys: false,
    followsCluster: true,
    onCrossSlot() {},
    undeclaredKeyOf: withPrefix as Topology["undeclaredKeyOf"],
    onUndeclaredKeys(isAllowed: boolean) {
      if (!isAllowed) onRejected?.();
      if (topology.undeclaredKeyOf === undefined) return;
      rejectionsLeft = isAllowed ? MAX_REJECTED : rejectionsLeft - 1;
      if (rejectionsLeft > 0) return;
      rejectionsLeft = 1;
      topology.undeclaredKeyOf = undefined;
      background.runInAsyncScope(() => setTimeout(tryAgain, REJECTED_MS).unref());
    },
  };
  return topology;
}

/**
 * A client of one server. That server may be in cluster mode and own all hash slots, as many managed services offer: it accepts
 * every key, but no script with keys of several hash slots. Neither client nor server reveals this before the first such script
 * is rejected. A proxy may have its own hash slots: if it rejects keys of one hash slot, each key is sent separately.
 */
function createServerTopology(client: object): Topology {
  const slotOf = createHashSlotOf(client);
  let isOneKeyPerScript = false;
  const topology = {
    canMixKeys: true,
    hashSlotOf: (key: string) => (topology.canMixKeys ? 0 : slotOf(key)),
    nodeOf: () => "",
    scriptGroupOf(key: string) {
      if (topology.canMixKeys) return "";
      return isOneKeyPerScript ? key : String(slotOf(key));
    },
    followsCluster: false,
    onCrossSlot(keys: readonly string[]) {
      topology.canMixKeys = false;
      if (new Set(keys.map(slotOf)).size === 1) isOneKeyPerScript = true;
    },
    onUndeclaredKeys() {},
    refreshTopology: isSentinel(client) ? createReconnect(client) : () => {},
  };
  return topology;
}

function createHashSlotOf(client: object): (key: string) => number {
  const keyPrefix = keyPrefixOf(client);
  return (key) => calculateSlot(keyPrefix + key);
}

/** The prefix that ioredis adds to each key that a command declares. It may contain a hash tag. */
function keyPrefixOf(client: object): string {
  const { options } = client as { readonly options?: { readonly keyPrefix?: string } };
  return options?.keyPrefix ?? "";
}

/**
 * Makes a client read its table again. Clients do so by themselves when a connection breaks or a server answers MOVED. A frozen
 * server causes neither, even long after another one has replaced it. Failures are retried later.
 */
function createRefresh(client: ClusterLike): (down: ReadonlySet<string>) => void {
  /** Servers with a PING in flight. Nothing more is sent to them. */
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

  /**
   * Reads the table only from a server that answers, because node-redis would wait for a silent one, and make no other attempt.
   */
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
 * Reconnects a client, so that it finds the primary through its Sentinels again. The connection to a frozen primary stays open,
 * even long after another one has replaced it.
 */
function createReconnect(client: SentinelLike): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - last < RECONNECT_MS || !["connect", "ready"].includes(client.status)) return;
    last = now;
    client.disconnect(true);
  };
}

function addressOf(owner: HashSlotOwner): string {
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
