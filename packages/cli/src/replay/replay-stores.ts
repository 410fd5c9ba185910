import { randomBytes } from "node:crypto";
import { getHeapStatistics } from "node:v8";
import type { Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { messageOf } from "../command/failure.ts";
import type { Connection } from "../connect/connection.ts";

/** Where a replay counts, on the log's clock. */
export interface ReplayStores {
  /** The store of a policy. */
  readonly storeOf: (policy: number) => Store;
  /** Subjects of a policy that memory had to forget although they counted. */
  readonly evicted: (policy: number) => number;
  /** Leaves nothing behind, or warns of what it had to leave. */
  close(): Promise<void>;
}

/** What a store keeps at most. */
const LARGEST_MAX_KEYS = 2 ** 24;

/** What a subject takes, with room to spare. */
const BYTES_PER_KEY = 800;

/** Counts in this process, in a store for each policy. Default: all subjects that there is memory for. */
export function inMemory(
  policies: number,
  clock: () => number,
  maxKeys: number = keysThatFit(policies),
): ReplayStores {
  const stores = Array.from({ length: policies }, () => memoryStore({ clock, maxKeys }));
  return {
    storeOf: (policy) => stores[policy] as Store,
    evicted: (policy) => stores[policy]?.evicted ?? 0,
    close: async () => {},
  };
}

/** As many subjects as half of what this process may allocate has room for. */
function keysThatFit(policies: number): number {
  const { heap_size_limit: bytes } = getHeapStatistics();
  return Math.min(LARGEST_MAX_KEYS, Math.floor(bytes / 2 / BYTES_PER_KEY / policies));
}

/** Counts in Redis, under a prefix that no other replay has; `close` deletes its keys. */
export function inRedis(
  { client, place }: Connection,
  clock: () => number,
  warn: (message: string) => void,
): ReplayStores {
  const prefix = `hg-replay-${randomBytes(6).toString("hex")}`;
  // A replay limits nobody: it is not for operators to see.
  const store = redisStore(client, { prefix, clock, directory: false });
  return {
    storeOf: () => store,
    evicted: () => 0,
    async close() {
      try {
        await deleteKeys(client, `${prefix}:*`);
      } catch (error) {
        warn(
          `the keys ${prefix}:* could not be deleted from Redis at ${place} and will expire by themselves: ${messageOf(error)}`,
        );
      }
    },
  };
}

async function deleteKeys(client: Connection["client"], pattern: string): Promise<void> {
  const nodes = client.isCluster ? (client as Cluster).nodes("master") : [client as Redis];
  for (const node of nodes) {
    let cursor = "0";
    do {
      const [next, keys] = await node.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
      // One by one: in a cluster, a command takes the keys of one slot.
      await Promise.all(keys.map((key) => node.unlink(key)));
      cursor = next;
    } while (cursor !== "0");
  }
}

type Cluster = Extract<Connection["client"], { nodes: unknown }>;
type Redis = Exclude<Connection["client"], Cluster>;
