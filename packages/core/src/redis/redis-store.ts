import { invalidValue } from "../common/errors.ts";
import { LruMap } from "../common/lru-map.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { redisBackend } from "../limiter/redis-limiter.ts";
import type {
  Clock,
  CountingStore,
  Operation,
  PendingCall,
  Store,
  UsageSubjects,
} from "../store/store.ts";
import { brandStore, createClock } from "../store/store.ts";
import type { RedisClient } from "./client-port.ts";
import { fromClient } from "./client-port.ts";
import { createScriptRunner } from "./script-retry.ts";
import { createScriptSender } from "./script-sender.ts";
import { isCrossSlot, listenForErrors } from "./store-error.ts";
import { topologyOf } from "./topology.ts";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /** The prefix of all keys: 1 to 32 letters, digits, dots, dashes, underscores. Default `"hg"`. */
  readonly prefix?: string | undefined;
  /**
   * Returns milliseconds since the epoch, for tests and replays, instead of the server's clock. Keys then live for at least 24
   * hours.
   */
  readonly clock?: Clock | undefined;
  /** Whether this process lists its limiters and breakers in Redis, for operators' tools. Default true. */
  readonly registry?: boolean | undefined;
  /**
   * Whether limiters keep usage in Redis, for operators' tools: their decisions, and the subjects with the most requests and
   * denials. Subjects are written as hashes, or in plain text with `"plain"`. Default false.
   */
  readonly usage?: boolean | UsageOptions | undefined;
}

/** How limiters keep usage. */
export interface UsageOptions {
  /** How subjects are written: as 96 bits of their SHA-256, or in plain text. Default `"hashed"`. */
  readonly subjects?: UsageSubjects | undefined;
}

/**
 * Creates a store that keeps counts in Redis or Valkey, through your client: ioredis, iovalkey, node-redis or Valkey GLIDE.
 * Concurrent calls are sent in one EVALSHA, on the server's clock, and every key expires. You connect and close the client; the
 * store does neither.
 *
 * Throws `HEADGATE_UNKNOWN_REDIS_CLIENT`, `HEADGATE_INVALID_OPTION`.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  rejectUnknownOptions("redisStore", options, ["prefix", "clock", "registry", "usage"]);
  const { prefix = "hg", clock, registry = true } = options;
  if (typeof prefix !== "string" || !/^[\w.-]{1,32}$/.test(prefix)) {
    throw invalidValue(
      "redisStore: prefix must be 1 to 32 letters, digits, dots, dashes, underscores",
      prefix,
    );
  }
  const now = createClock("redisStore", clock);
  readBoolean("redisStore: registry", registry);
  const usage = readUsage(options.usage ?? false);
  const settings = { prefix, registry, usage };
  // A clock is for tests and replays.
  if (clock !== undefined) return createStore(client, settings, now, () => String(now()));
  const storesOfClient = stores.get(client) ?? new LruMap<string, CountingStore>(MAX_STORES);
  const id = `${prefix} ${registry} ${usage}`;
  const store = storesOfClient.get(id) ?? createStore(client, settings, now);
  storesOfClient.set(id, store);
  stores.set(client, storesOfClient);
  return store;
}

/** The most stores kept for each client; the oldest is dropped first. */
const MAX_STORES = 64;

/**
 * The stores of each client. A store created again with the same client and options is the same object, and so are the limiters
 * created again on it.
 */
const stores = new WeakMap<object, LruMap<string, CountingStore>>();

/** `now` is this process's clock. `writeClock` formats the time of a custom clock, which replaces the server's. */
function createStore(
  client: RedisClient,
  settings: Pick<CountingStore, "prefix" | "registry" | "usage">,
  now: () => number,
  writeClock?: () => string,
): CountingStore {
  // First, because it throws for a client that is none.
  const scripts = createScriptRunner(fromClient(client));
  const errors = listenForErrors(client);
  const topology = topologyOf(client);
  const send = createScriptSender(scripts, topology, now, writeClock);
  return brandStore({
    owner: client,
    ...settings,
    backend: redisBackend,
    transport: {
      hashSlotOf: topology.hashSlotOf,
      nodeOf: topology.nodeOf,
      refreshTopology: topology.refreshTopology,
      send,
      isCrossSlotError: (error) => error instanceof Error && isCrossSlot(error.cause),
      followsControl: true,
      loadScript: scripts.load,
      connectsTo: topology.followsCluster ? "several" : "one",
      lastError: errors.recent,
    },
    now,
    run<Call, Reply>(operation: Operation<Call, Reply>, call: Call) {
      return new Promise<Reply>((resolve, reject) => {
        const sent = {
          operation,
          call,
          keys: [],
          weight: 1,
          clock: "",
          isAbandoned: false,
          resolve,
          reject,
        };
        send(sent as unknown as PendingCall);
      });
    },
  });
}

/** Throws `HEADGATE_INVALID_OPTION`. */
function readUsage(usage: unknown): UsageSubjects | undefined {
  if (typeof usage === "boolean") return usage ? "hashed" : undefined;
  if (!isPlainObject(usage)) {
    throw invalidValue("redisStore: usage must be true, false or { subjects }", usage);
  }
  rejectUnknownOptions("redisStore: usage", usage, ["subjects"]);
  const { subjects = "hashed" } = usage;
  if (subjects === "hashed" || subjects === "plain") return subjects;
  throw invalidValue('redisStore: usage.subjects must be "hashed" or "plain"', subjects);
}
