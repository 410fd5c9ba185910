import type { LuaSource } from "../algorithms/algorithm.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import { toMicroseconds } from "../common/time.ts";
import type { Compose } from "../scripts/shape-scripts.ts";
import type { MemoryTable } from "./memory-table.ts";

/** The time of a call, and the generation for counters that it creates. */
export interface OperationContext {
  /** Microseconds since the epoch. */
  readonly now: number;
  /**
   * The generation of counters that the call creates: a number below 2^48, different for every call. A key that is created
   * again gets another generation.
   */
  readonly generation: number;
}

/** The reply to a call whose operation has no other type: the server's clock in microseconds, and further integers. */
export type Integers = readonly number[];

/**
 * The decoded replies to calls that were sent together. A call may have failed with an error of its own; undefined stands for a
 * reply that the script never gives.
 */
export type Replies<Reply = Integers> = ReadonlyArray<Reply | Error | undefined>;

/** A script and its arguments. */
interface ScriptCall {
  readonly script: LuaSource;
  readonly args: readonly string[];
}

/** The values of a memory store. A `Pick`, because private fields would make copies of the package incompatible types. */
export type MemoryAccess = Pick<MemoryTable, "get" | "set" | "rewrite" | "delete">;

/**
 * An operation on a store's keys: Lua scripts, TypeScript with the same effect, and the only code that knows how the scripts write
 * a call and its reply.
 */
export interface Operation<Call, Reply = Integers> {
  readonly name: string;
  /**
   * Operations of one kind keep their order only among calls with an equal batch key. Waiting operations of another kind
   * were requested earlier, and are sent first.
   */
  readonly kind: string;
  /** Calls with an equal batch key keep their order, and consecutive calls of one operation among them are sent together. */
  batchKey(call: Call): object;
  /**
   * The calendar boundaries for calls with an equal batch key; empty if they need none. They are around `clock` or, if
   * that is empty, around the guessed clock of the server, in microseconds since the epoch. A script whose clock is
   * outside the boundaries does nothing, and returns only its clock.
   */
  boundaries?(call: Call, clock: string, guess: () => number): string;
  /**
   * The script and arguments for calls that are sent together, all with an equal batch key. `compose` comes from the
   * store, so that a memory store loads no Lua. `clock` is empty for the server's own.
   */
  encode(calls: readonly Call[], compose: Compose, clock: string, times?: string): ScriptCall;
  decode(calls: readonly Call[], reply: unknown): Replies<Reply>;
  /** The keys of a call, all in one hash slot. */
  keys(call: Call): readonly string[];
  /** Whether the script for such calls reads all its keys before it writes one. Default false. */
  readsFirst?(call: Call): boolean;
  /** Whether its calls are sent even if nothing waits for their replies any more. */
  readonly isFireAndForget?: boolean;
  /** The most work of a call for the server: 1 for a decision on one counter, about 3 µs. */
  weight(call: Call): number;
  /** Runs the operation in this process. Returns the reply. */
  runInMemory(call: Call, memory: MemoryAccess, moment: OperationContext): Reply;
}

/** The servers of a store, which may fail to answer. */
export interface ScriptTransport {
  /** Sends a call, which is resolved with its reply, or rejected like `CountingStore.run`. Throws the errors of a clock. */
  send(call: PendingCall): void;
  /**
   * The hash slot of a key. Keys of one hash slot can be in one call. All keys are in one hash slot until the server
   * refuses a call because of hash slots.
   */
  hashSlotOf(key: string): number;
  /**
   * Whether a call failed because its keys are in several hash slots, which `hashSlotOf` distinguishes from now on.
   * Nothing was done, so the call can be split and sent again.
   */
  isCrossSlotError(error: unknown): boolean;
  /** The server that owns a key, as far as the client knows; empty if there is only one, or none is known yet. */
  nodeOf(key: string): string;
  /** Whether the client connects to one server or several before its first reply; undefined if it connects to none. */
  readonly connectsTo?: "one" | "several" | undefined;
  /** Makes the client update its table of servers and hash slots, without calls to servers that are down. */
  refreshTopology(down: ReadonlySet<string>): void;
  /** Makes the server of a key load a script, without running it. Rejects if the server does not reply. */
  loadScript?(script: LuaSource, key: string): Promise<void>;
  /** Whether limiters on it follow the control record of their prefix. */
  readonly followsControl?: boolean | undefined;
  /** The client's last error if it is recent, for the operator. */
  lastError(): Error | undefined;
}

/** How subjects are written in usage: in plain text, or as hashes. */
export type UsageSubjects = "plain" | "hashed";

/** A call that is in flight: one object, created once and shared by the server monitor, the queue and the script. */
export interface PendingCall<Call = never> {
  readonly operation: Operation<Call, unknown>;
  readonly call: Call;
  /** Filled in by the store, like the two below. */
  keys: readonly string[];
  weight: number;
  /** The time by the store's `clock` option, in microseconds; empty for the server's own clock. */
  clock: string;
  /** Whether nothing waits for the reply any more. Such a call is no longer sent, unless it is fire-and-forget. */
  readonly isAbandoned: boolean;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** A store of counts, created by `memoryStore` or `redisStore`, for the options and functions that take one. */
export interface Store {
  /** The prefix of all keys. */
  readonly prefix: string;
  /** Marks the type: no other object is assignable to it. The property does not exist. */
  readonly "~store": never;
}

/**
 * A store that runs operations, each call atomically, on one clock for all of its users.
 *
 * `run` rejects with `HEADGATE_STORE_UNAVAILABLE` if the store could not answer, and with `HEADGATE_STORE_MISCONFIGURED` if
 * it cannot with its configuration. The operation may or may not have happened. A denial is a reply, not an error.
 */
export interface CountingStore extends Store {
  /** The object that holds the counts: two stores with the same owner and prefix share them. */
  readonly owner: object;
  /** Whether its limiters and breakers are listed in its registry, for operators' tools. */
  readonly registry?: boolean | undefined;
  /** How subjects are written in the usage that its limiters keep; undefined if they keep none. */
  readonly usage?: UsageSubjects | undefined;
  /** The part that it adds to its limiters, if it is on servers: `StoreBackend` of limiter/store-backend.ts. */
  readonly backend?: object | undefined;
  /** The connection to the servers with the counts; undefined if the counts are in this process. Then `run` needs no timeout. */
  readonly transport?: ScriptTransport | undefined;
  /**
   * Microseconds since the epoch on a clock of this process, which may differ from the store's. It runs while a call is in
   * progress, and follows a clock given to the store.
   */
  now(): number;
  run<Call, Reply>(operation: Operation<Call, Reply>, call: Call): Promise<Reply>;
  /** Runs a call synchronously, if the counts are in this process. Throws the errors of `run`. */
  readonly runSync?:
    | (<Call, Reply>(operation: Operation<Call, Reply>, call: Call) => Reply)
    | undefined;
}

/** Gives the parts of a store the type of a store. */
export function brandStore<Parts extends Omit<CountingStore, "~store">>(
  parts: Parts,
): NoInfer<Parts> & Store {
  return parts as Parts & Store;
}

/** Whether a value is a store, from any copy of the package. */
export function isStore(value: unknown): value is CountingStore {
  const { owner, prefix, now, run } = (value ?? {}) as Partial<CountingStore>;
  return (
    ((typeof owner === "object" && owner !== null) || typeof owner === "function") &&
    typeof prefix === "string" &&
    typeof now === "function" &&
    typeof run === "function"
  );
}

/** Returns the given store. Throws `HEADGATE_INVALID_OPTION` for anything but a store. */
export function requireStore<Given>(store: Given): Given & CountingStore {
  if (isStore(store)) return store;
  throw invalidValue("store must be made by memoryStore or redisStore", store, formatKind);
}

/** A source of time: milliseconds since the epoch, fractions allowed. Read at each call. */
export type Clock = () => number;

const { timeOrigin } = performance;

/** The process's monotonic clock, in whole microseconds since the epoch. */
function monotonicClock(): number {
  return Math.floor((timeOrigin + performance.now()) * 1_000);
}

/**
 * A clock given as an option, in whole microseconds, or the process's own. Throws `HEADGATE_INVALID_OPTION` for anything but a
 * function; reading it does so for anything but a time.
 */
export function createClock(owner: string, clock: unknown): () => number {
  if (clock === undefined) return monotonicClock;
  if (typeof clock === "function") return () => readClock(clock as Clock);
  throw invalidValue(
    `${owner}: clock must be a function that returns milliseconds since the epoch`,
    clock,
  );
}

function readClock(clock: Clock): number {
  const microseconds = toMicroseconds(clock());
  if (!Number.isSafeInteger(microseconds) || microseconds < 0) {
    throw invalidValue("clock must return milliseconds since the epoch", microseconds / 1_000);
  }
  return microseconds;
}
