import type { LuaSource } from "../algorithms/algorithm.ts";
import { readInteger, wrongTypeError } from "../operations/list-script.ts";
import type { Operation } from "../store/store.ts";
import { changeLua, readLogLua, readLua, redactLogLua } from "./lua.generated.ts";
import { formatVersion } from "./record-text.ts";

/** The key of a prefix's control record. Counter keys have more after the closing brace, so it cannot be one. */
export function controlKey(prefix: string): string {
  return `${prefix}:{control}`;
}

/** The key of the log of actions, in the same hash slot. */
export function actionLogKey(prefix: string): string {
  return `${controlKey(prefix)}:actions`;
}

/** A record to read. */
export interface ReadControlCall {
  readonly key: string;
  /** The version that the process has, 0 for no record; undefined if it has read none yet. */
  readonly knownVersion: number | undefined;
}

/** A record as it was read, and the server's clock in microseconds. */
export interface ControlReply {
  readonly now: number;
  /** `"changed"`: the version differs from the one that the process has. */
  readonly state: "unchanged" | "changed" | "too-long" | "damaged" | "wrong-type";
  /** The text of a changed record; empty if there is none, and in every other state. */
  readonly text: string;
}

/** The states of a record, as read.lua returns them. */
const STATES: ReadonlyMap<number, ControlReply["state"]> = new Map([
  [0, "unchanged"],
  [1, "changed"],
  [2, "too-long"],
  [3, "damaged"],
  [-1, "wrong-type"],
]);

/** Reads a control record, unless its version is the known one. */
export const readControl: Operation<ReadControlCall, ControlReply> = {
  name: "read-control",
  kind: "read-control",
  batchKey: () => readLua,
  encode: (calls, _, clock) => ({
    script: readLua,
    args: [
      clock,
      "0",
      ...calls.map(({ knownVersion }) =>
        knownVersion === undefined ? "unknown" : formatVersion(knownVersion),
      ),
    ],
  }),
  decode(calls, reply) {
    const [clock, ...parts]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    const now = readInteger(clock);
    return calls.map((_, i) => {
      const state = STATES.get(readInteger(parts[2 * i]));
      const text = readText(parts[2 * i + 1]);
      const isValid = Number.isSafeInteger(now) && state !== undefined && text !== undefined;
      return isValid ? { now, state, text } : undefined;
    });
  },
  keys: ({ key }) => [key],
  weight: () => 1,
  // In memory, this process always has the latest version.
  runInMemory: (_, __, { now }) => ({ now, state: "changed", text: "" }),
};

/** A change of a record. */
export interface ChangeControlCall {
  readonly prefix: string;
  /** The version to change; 0 if there was no record. */
  readonly version: number;
  /** The record, without its version. Negative times are relative to the moment of the change, in microseconds. */
  readonly body: string;
  /** How many milliseconds it is kept; undefined for until the next change. */
  readonly ttlMs: number | undefined;
  /** The entry in the log of actions, without its time. */
  readonly entry: string;
}

/** Changes a control record, and appends to the log. Replies whether the record still had the given version, and so was changed. */
export const changeControl: Operation<
  ChangeControlCall,
  { readonly now: number; readonly isChanged: boolean }
> = {
  ...unbatched(
    "change-control",
    changeLua,
    ({ version, body, ttlMs, entry }: ChangeControlCall) => [
      formatVersion(version),
      body,
      String(ttlMs ?? ""),
      entry,
    ],
    ({ prefix }) => actionLogKey(prefix),
    (now, version) =>
      Number.isSafeInteger(version) ? { now, isChanged: version !== 0 } : undefined,
  ),
  keys: ({ prefix }) => [controlKey(prefix), actionLogKey(prefix)],
  runInMemory: (_, __, { now }) => ({ now, isChanged: false }),
};

/** Reads the log of actions of a prefix. Replies with the entries, newest first, a line each. */
export const readActionLog: Operation<string, string> = {
  ...unbatched(
    "read-actions",
    readLogLua,
    () => [],
    actionLogKey,
    (_, __, text) => readText(text),
  ),
  keys: (prefix) => [actionLogKey(prefix)],
  runInMemory: () => "",
};

/** Entries of the log to replace. */
export interface RedactLogCall {
  readonly prefix: string;
  /** Stored entries, with their time, each with its replacement. */
  readonly replacements: ReadonlyArray<readonly [entry: string, replacement: string]>;
}

/** Replaces entries of the log of actions. Replies with the number of entries replaced. */
export const redactActionLog: Operation<RedactLogCall, number> = {
  ...unbatched(
    "redact-actions",
    redactLogLua,
    ({ replacements }: RedactLogCall) => replacements.flat(),
    ({ prefix }) => actionLogKey(prefix),
    (_, count) => (Number.isSafeInteger(count) ? count : undefined),
  ),
  keys: ({ prefix }) => [actionLogKey(prefix)],
  runInMemory: () => 0,
};

/**
 * The parts of an operation on the log, whose calls are sent one by one: each takes as much work as fits one script. Its script returns
 * the clock, an integer, which is -1 if the key of the log holds another type, and maybe a text.
 */
function unbatched<Call, Reply>(
  name: string,
  script: LuaSource,
  argsOf: (call: Call) => readonly string[],
  logKeyOf: (call: Call) => string,
  read: (now: number, integer: number, text: unknown) => Reply | undefined,
): Pick<Operation<Call, Reply>, "name" | "kind" | "batchKey" | "encode" | "decode" | "weight"> {
  return {
    name,
    kind: name,
    batchKey: () => script,
    encode: ([call], _, clock) => ({ script, args: [clock, "0", ...argsOf(call as Call)] }),
    decode(calls, reply) {
      const [clock, second, text]: readonly unknown[] = Array.isArray(reply) ? reply : [];
      const [now, integer] = [readInteger(clock), readInteger(second)];
      return calls.map((call) => {
        if (integer === -1) return wrongTypeError([{ key: logKeyOf(call) }]);
        return Number.isSafeInteger(now) ? read(now, integer, text) : undefined;
      });
    },
    weight: () => 256,
  };
}

/** A text of a reply, from a client that returns bytes or strings; undefined for anything else. */
function readText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.length).toString()
    : undefined;
}
