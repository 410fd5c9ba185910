import type { LuaSource } from "../algorithms/algorithm.ts";
import { readInteger } from "../operations/list-script.ts";
import type { Operation, Replies } from "../store/store.ts";
import { actionsLua, changeLua, readLua, redactLua } from "./lua.generated.ts";
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

/** The state of a record, in the reply of `read`. */
export const READ_STATES = {
  unchanged: 0,
  changed: 1,
  tooLong: 2,
  damaged: 3,
  wrongType: -1,
} as const;

/** Reads a control record. The reply has its state, as in `READ_STATES`, and the text if the version differs. */
export const readControl: Operation<ReadControlCall> = {
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
    return calls.map((_, i) => decodeText(clock, parts[2 * i], parts[2 * i + 1]));
  },
  keys: ({ key }) => [key],
  weight: () => 1,
  // In memory, this process always has the latest version.
  runInMemory: (_, __, { now }) => [now, 1],
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

/** Changes a control record, and appends to the log. The reply has the new version, or 0 if the record had another version. */
export const changeControl: Operation<ChangeControlCall> = {
  ...unbatched(
    "change-control",
    changeLua,
    ({ version, body, ttlMs, entry }: ChangeControlCall) => [
      formatVersion(version),
      body,
      String(ttlMs ?? ""),
      entry,
    ],
  ),
  decode: decodeNumber,
  keys: ({ prefix }) => [controlKey(prefix), actionLogKey(prefix)],
  runInMemory: (_, __, { now }) => [now, 0],
};

/** Reads the log of actions of a prefix. The reply has 1 and the bytes of the entries, newest first, a line each. */
export const readActionLog: Operation<string> = {
  ...unbatched("read-actions", actionsLua, () => []),
  decode(calls, reply) {
    const [clock, status, text]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return calls.map(() => decodeText(clock, status, text));
  },
  keys: (prefix) => [actionLogKey(prefix)],
  runInMemory: (_, __, { now }) => [now, 1],
};

/** Entries of the log to replace. */
export interface RedactLogCall {
  readonly prefix: string;
  /** Stored entries, with their time, each with its replacement. */
  readonly replacements: ReadonlyArray<readonly [entry: string, replacement: string]>;
}

/** Replaces entries of the log of actions. The reply has the number of entries replaced. */
export const redactActionLog: Operation<RedactLogCall> = {
  ...unbatched("redact-actions", redactLua, ({ replacements }: RedactLogCall) =>
    replacements.flat(),
  ),
  decode: decodeNumber,
  keys: ({ prefix }) => [actionLogKey(prefix)],
  runInMemory: (_, __, { now }) => [now, 0],
};

/** The parts of an operation whose calls are sent one by one: each takes as much work as fits one script. */
function unbatched<Call>(
  name: string,
  script: LuaSource,
  argsOf: (call: Call) => readonly string[],
): Pick<Operation<Call>, "name" | "kind" | "batchKey" | "encode" | "weight"> {
  return {
    name,
    kind: name,
    batchKey: () => script,
    encode: ([call], _, clock) => ({ script, args: [clock, "0", ...argsOf(call as Call)] }),
    weight: () => 256,
  };
}

/** Reads a reply of the clock and one number. */
function decodeNumber(calls: readonly unknown[], reply: unknown): Replies {
  const numbers: readonly number[] = Array.isArray(reply) ? reply.map(readInteger) : [];
  const isValid = numbers.length === 2 && numbers.every(Number.isSafeInteger);
  return calls.map(() => (isValid ? numbers : undefined));
}

/** A reply of integers with a text, so that a large text need not be copied into an array. */
interface TextReply extends Array<number> {
  bytes?: Uint8Array;
}

function decodeText(clock: unknown, state: unknown, text: unknown): readonly number[] | undefined {
  const head = [readInteger(clock), readInteger(state)];
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const isValid = bytes instanceof Uint8Array && head.every(Number.isSafeInteger);
  return isValid ? textReply(head, bytes) : undefined;
}

/** A reply of integers with a text. */
export function textReply(integers: readonly number[], bytes: Uint8Array): readonly number[] {
  const reply: TextReply = [...integers];
  reply.bytes = bytes;
  return reply;
}

/** The text of a reply; empty if it has none. */
export function replyText(reply: readonly number[]): string {
  const { bytes } = reply as TextReply;
  return bytes === undefined
    ? ""
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
