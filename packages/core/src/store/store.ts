import type { LuaSource } from "../algorithms/algorithm.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import type { Compose } from "../scripts/shape-scripts.ts";
import type { MemoryTable } from "./memory-table.ts";

/** The time of a call, and a number for what it creates. */
export interface OperationContext {
  /** Microseconds since the epoch. */
  readonly now: number;
  /**
   * A number below 2^48 that no earlier call had: the generation of anything it creates. A key that is created again has
   * another one.
   */
  readonly generation: number;
}

/** The replies to calls that were sent together: integers for each, or undefined if a script returned something invalid. */
export type Replies = ReadonlyArray<readonly number[] | undefined>;

/** A script and its arguments. */
export interface ScriptCall {
  readonly script: LuaSource;
  readonly args: readonly string[];
}

/** Values by key, for a twin. Without the private fields of a class, by which the compiler distinguishes copies of the package. */
export type MemoryAccess = Pick<MemoryTable, "get" | "set" | "delete">;

/**
 * An operation on a store's keys: Lua scripts and their TypeScript twin.
 *
 * A call's reply begins with the server's clock in microseconds, or 0 if that does not matter. The integer after it is -1 if
 * one of the call's keys holds a value of the wrong type, and nothing was done.
 */
export interface Operation<Call> {
  readonly name: string;
  /**
   * Steps of one kind keep their order only within a line; waiting steps of another kind were requested earlier, and are sent
   * first.
   */
  readonly kind: string;
  /** The line in which a call waits. Calls of a line keep their order; consecutive calls of one step in it are sent together. */
  batchKey(call: Call): object;
  /**
   * The calendar boundaries for the calls of a line; empty if they need none. They are around the clock or, if that is empty,
   * around a guess of the server's, in microseconds since the epoch. A script whose clock is beyond them does nothing, and
   * returns only its clock.
   */
  boundaries?(call: Call, clock: string, guess: () => number): string;
  /**
   * The script for calls that are sent together, all of one line. `compose` comes from the store, so that no Lua is loaded where
   * counts are in this process. `clock` is empty for the server's own.
   */
  encode(calls: readonly Call[], compose: Compose, clock: string, times?: string): ScriptCall;
  decode(calls: readonly Call[], reply: unknown): Replies;
  /** The keys of a call, all in one hash slot. */
  keys(call: Call): readonly string[];
  /** Whether its calls are reports: they are sent even if nothing waits for their replies any more. */
  readonly isFireAndForget?: boolean;
  /** The most work that a call is for the server: 1 for a decision on one counter, about 3 µs. */
  weight(call: Call): number;
  /** The same step in this process: returns the reply to a call. */
  runInMemory(call: Call, memory: MemoryAccess, moment: OperationContext): readonly number[];
}

/** The servers of a store, which may fail to answer. */
export interface ScriptTransport {
  /** Sends a call, which is resolved with its reply, or rejected like `CountingStore.run`. Throws the errors of a clock. */
  send(call: PendingCall): void;
  /**
   * The hash slot of a key. Keys of one hash slot can be in one call. Until the server is known to have hash slots, because it
   * refused a call, all keys are in one.
   */
  hashSlotOf(key: string): number;
  /**
   * Whether a call failed because its keys turned out to be in several hash slots, which `slotOf` distinguishes from now on.
   * Nothing was done, so it can be split and sent again.
   */
  isCrossSlotError(error: unknown): boolean;
  /** The server that owns a key, as far as the client knows; empty if there is only one, or none is known yet. */
  nodeOf(key: string): string;
  /** How many servers the client connects to before its first answer; undefined if nothing connects. */
  readonly connectsTo?: "one" | "several" | undefined;
  /** Makes the client update its table of servers and keys, without asking servers that are down. */
  refreshTopology(down: ReadonlySet<string>): void;
  /** Makes the server of a key load a script, without running it. Rejects if the server gave no answer. */
  loadScript?(script: LuaSource, key: string): Promise<void>;
  /** Whether the limiters on it follow the control record of its prefix. */
  readonly followsControl?: boolean | undefined;
  /** The client's recent error, for the operator. */
  lastError(): Error | undefined;
}

/** How subjects are written in usage: in plain text, or as hashes. */
export type UsageSubjects = "plain" | "hashed";

/** A call on its way to a server and back: one record, created once, shared by its watch, its queue and its script. */
export interface PendingCall<Call = never> {
  readonly operation: Operation<Call>;
  readonly call: Call;
  /** Filled in by the store, like the two below. */
  keys: readonly string[];
  weight: number;
  /** The time by the clock that was given to the store, in microseconds; empty for the server's own. */
  clock: string;
  /** Whether nothing waits for the reply any more. Such a call is not sent if it still waits, unless it is a report. */
  readonly isAbandoned: boolean;
  resolve(reply: readonly number[]): void;
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
 * A store that runs steps, each call of a step atomically, on one clock for all of its users.
 *
 * `run` rejects with `HEADGATE_STORE_UNAVAILABLE` if the store could not answer, and with `HEADGATE_STORE_MISCONFIGURED` if it
 * never will with its configuration; then the step may or may not have happened. A denial is an answer.
 */
export interface CountingStore extends Store {
  /** The object that holds the counts: two stores with the same owner and prefix share them. */
  readonly owner: object;
  /** Whether the limiters and breakers on it are listed in it, for operators' tools. */
  readonly registry?: boolean | undefined;
  /** How subjects are written in the usage that its limiters keep; undefined if they keep none. */
  readonly usage?: UsageSubjects | undefined;
  /** The part that it adds to its limiters, if it is on servers: `StoreBackend` of limiter/store-backend.ts. */
  readonly backend?: object | undefined;
  /**
   * The connection to counts outside this process; undefined if they are in this process, and always answer: then nothing
   * limits the wait for `run`.
   */
  readonly transport?: ScriptTransport | undefined;
  /**
   * Microseconds since the epoch on a clock of this process, which may differ from the store's. It runs while a call is in
   * progress, and follows a clock given to the store.
   */
  now(): number;
  run<Call>(operation: Operation<Call>, call: Call): Promise<readonly number[]>;
  /** The same synchronously, if the counts are in this process: throws the errors of `run`. */
  readonly runSync?:
    | (<Call>(operation: Operation<Call>, call: Call) => readonly number[])
    | undefined;
}

/** What a store is made of. */
type StoreParts = Omit<CountingStore, "~store">;

/** Makes a store of its parts, with the mark that only its type has. */
export function brandStore<Parts extends StoreParts>(parts: Parts): NoInfer<Parts> & Store {
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
