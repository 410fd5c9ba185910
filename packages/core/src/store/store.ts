import type { LuaSource } from "../algorithms/algorithm.ts";
import { formatKind, HeadgateError } from "../base/errors.ts";
import type { MemoryTable } from "./memory-table.ts";

/** The time of a call, and a number for what it creates. */
export interface Moment {
  /** Microseconds since the epoch. */
  readonly now: number;
  /** A number below 2^48 that no earlier call had: the generation of what it creates. A key that is created again has another one. */
  readonly generation: number;
}

/** The replies to calls that went together: integers each, or undefined if a script returned something invalid. */
export type Replies = ReadonlyArray<readonly number[] | undefined>;

/** A script and its arguments. */
export interface Prepared {
  readonly script: LuaSource;
  readonly args: readonly string[];
}

/** Values by key, as a twin sees them. Without the private fields of a class, by which the compiler tells two copies apart. */
export type TwinMemory = Pick<MemoryTable, "get" | "set" | "delete">;

/**
 * Something a store can do to its keys: Lua scripts and their TypeScript twin.
 *
 * A call's reply begins with the server's clock in microseconds, or 0 if that does not matter. The first of the
 * integers after it is -1 if one of the call's keys holds a value of the wrong type, and nothing was done.
 */
export interface Step<Call> {
  readonly name: string;
  /** Steps of one kind keep their order only within a line; waiting steps of another kind were asked for before, and go first. */
  readonly kind: string;
  /** The line in which a call waits. Those of a line keep their order; those of one step in it that follow each other go together. */
  line(call: Call): object;
  /**
   * The times that the calls of a line bring; empty where they need none. They are around the clock or, where that is empty, around
   * what the server's may be, in microseconds since the epoch. A script whose clock is beyond them does nothing, and returns its
   * clock alone.
   */
  times?(call: Call, clock: string, guess: () => number): string;
  /** The script for calls that go together, all of one line. `clock` is empty for the server's own. */
  prepare(calls: readonly Call[], clock: string, times?: string): Prepared;
  read(calls: readonly Call[], reply: unknown): Replies;
  /** The keys of a call, all in one cluster slot. */
  keys(call: Call): readonly string[];
  /** Whether its calls report: they are sent even if nothing waits for their replies any more. */
  readonly isReport?: boolean;
  /** How much work a call is for the server, at most: 1 for a decision on one counter, about 3 µs. */
  weight(call: Call): number;
  /** The same step in this process: the reply of a call. */
  twin(call: Call, memory: TwinMemory, moment: Moment): readonly number[];
}

/** What a store knows about the servers on which it counts, which may fail to answer. */
export interface Remote {
  /** Sends a call, which is resolved with the reply to it, or rejected as `CountingStore.run` rejects. Throws the errors of a clock. */
  send(call: SentCall): void;
  /**
   * The cluster slot of a key. Keys of one slot can go in one call. Where it is not known that the server has slots, all keys
   * are in one, until a call is refused for it.
   */
  slotOf(key: string): number;
  /**
   * Whether a call failed because its keys turned out to be in several slots, which `slotOf` tells apart from now on. Nothing
   * was done, so it may be asked again in parts.
   */
  isAcrossSlots(error: unknown): boolean;
  /** The server that answers for a key, as the client knows it now; empty if there is only one, or none is known yet. */
  nodeOf(key: string): string;
  /** To how many servers the client connects before its first answer; undefined where nothing connects. */
  readonly connectsTo?: "one" | "several" | undefined;
  /** Asks the client to find out again which server has which keys, without asking those that are down. */
  refresh(down: ReadonlySet<string>): void;
  /** Lets the server of a key load a script, without letting it do anything. Rejects if the server gave no answer. */
  load?(script: LuaSource, key: string): Promise<void>;
  /** Whether the limiters on it follow the control record of its prefix. */
  readonly isControlled?: boolean | undefined;
  /** The client's recent error, for the operator. */
  lastError(): Error | undefined;
}

/** How subjects are written in usage: as they are (`"plain"`), or as hashes. */
export type UsageSubjects = "plain" | "hashed";

/** A call on its way to a server and back: one record, made once, that its watch, its queue and its script share. */
export interface SentCall<Call = never> {
  readonly step: Step<Call>;
  readonly call: Call;
  /** Filled in by the store, as the two below. */
  keys: readonly string[];
  weight: number;
  /** The time by the clock that was given to the store, in microseconds; empty for the server's own. */
  clock: string;
  /** Whether nothing waits for the reply any more. A call that was not sent yet is not sent then, unless it reports. */
  readonly isOver: boolean;
  resolve(reply: readonly number[]): void;
  reject(error: unknown): void;
}

/** A store of counts, made by `memoryStore` or `redisStore`, for the options and functions that take one. */
export interface Store {
  /** The prefix of all keys. */
  readonly prefix: string;
  /** Marks the type: no other object is assignable to it. The property does not exist. */
  readonly "~store": never;
}

/**
 * Where counts live. A store runs steps, each call of a step atomically, on one clock for everybody who shares the store.
 *
 * `run` rejects with `HEADGATE_STORE_UNAVAILABLE` if the store could not answer, and with `HEADGATE_STORE_MISCONFIGURED`
 * if it never will with its configuration; then it is not known what it did. A denial is an answer.
 */
export interface CountingStore extends Store {
  /** The thing that holds the counts: two stores with the same owner and prefix share them. */
  readonly owner: object;
  /** Whether the limiters and breakers on it are listed there, for operators' tools. */
  readonly directory?: boolean | undefined;
  /** How subjects are written in the usage that limiters on it keep there; undefined where they keep none. */
  readonly usage?: UsageSubjects | undefined;
  /** What it adds to the limiters on it, if it is on servers: `OnServers` of limiter/server-side.ts. */
  readonly side?: object | undefined;
  /** Where the counts are outside this process; undefined where they are in it, and always answer: `run` is waited for then. */
  readonly remote?: Remote | undefined;
  /**
   * Microseconds since the epoch on a clock of this process, which may be away from the store's. It runs while a call is under way,
   * and follows a clock given to the store.
   */
  now(): number;
  run<Call>(step: Step<Call>, call: Call): Promise<readonly number[]>;
  /** The same without waiting, where counts are in this process: throws what `run` rejects with. */
  readonly runNow?: (<Call>(step: Step<Call>, call: Call) => readonly number[]) | undefined;
}

/** What a store is made of. */
type StoreParts = Omit<CountingStore, "~store">;

/** Makes a store of its parts, with the mark that only its type has. */
export function asStore<Parts extends StoreParts>(parts: Parts): NoInfer<Parts> & Store {
  return parts as Parts & Store;
}

/** Whether a value is a store, of this copy of the package or of another. */
export function isStore(value: unknown): value is CountingStore {
  const { owner, prefix, now, run } = (value ?? {}) as Partial<CountingStore>;
  return (
    ((typeof owner === "object" && owner !== null) || typeof owner === "function") &&
    typeof prefix === "string" &&
    typeof now === "function" &&
    typeof run === "function"
  );
}

/** The store that was given. Throws `HEADGATE_INVALID_OPTION` for anything but a store. */
export function requireStore<Given>(store: Given): Given & CountingStore {
  if (isStore(store)) return store;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `store must be made by memoryStore or redisStore, got ${formatKind(store)}`,
  );
}
