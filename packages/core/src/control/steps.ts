import type { LuaSource } from "../algorithms/algorithm.ts";
import { readInteger } from "../operations/list-script.ts";
import type { Operation, Replies } from "../store/store.ts";
import { actionsLua, changeLua, readLua, redactLua } from "./lua.generated.ts";
import { writeVersion } from "./record-text.ts";

/** The key of a prefix's control record. Counter keys have more after the closing brace, so it cannot be one. */
export function recordKeyOf(prefix: string): string {
  return `${prefix}:{control}`;
}

/** The key of the log of actions, in the same hash slot. */
export function actionsKeyOf(prefix: string): string {
  return `${recordKeyOf(prefix)}:actions`;
}

/** A record to read. */
export interface ReadCall {
  readonly key: string;
  /** The known version, 0 if it is known that there is no record; undefined if nothing is known. */
  readonly known: number | undefined;
}

/** The state of a record, in the reply of `read`. */
export const READ_STATES = { known: 0, other: 1, tooLong: 2, damaged: 3, wrongType: -1 } as const;

/** Reads a control record. The reply has its state, as in `READ_STATES`, and the text if the version differs. */
export const read: Operation<ReadCall> = {
  name: "read-control",
  kind: "read-control",
  line: () => readLua,
  prepare: (calls, _, clock) => ({
    script: readLua,
    args: [
      clock,
      "0",
      ...calls.map(({ known }) => (known === undefined ? "unknown" : writeVersion(known))),
    ],
  }),
  read(calls, reply) {
    const [clock, ...parts]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return calls.map((_, i) => readText(clock, parts[2 * i], parts[2 * i + 1]));
  },
  keys: ({ key }) => [key],
  weight: () => 1,
  // In memory, this process always has the latest version.
  twin: (_, __, { now }) => [now, 1],
};

/** A change of a record. */
export interface ChangeCall {
  readonly prefix: string;
  /** The version to change; 0 if there was no record. */
  readonly version: number;
  /** The record, without its version. Negative times are relative to the moment of the change, in microseconds. */
  readonly body: string;
  /** How many milliseconds it is kept; undefined for until the next change. */
  readonly keptMs: number | undefined;
  /** The entry in the log of actions, without its time. */
  readonly entry: string;
}

/** Changes a control record, and appends to the log. The reply has the new version, or 0 if the record had another version. */
export const change: Operation<ChangeCall> = {
  ...goesAlone("change-control", changeLua, ({ version, body, keptMs, entry }: ChangeCall) => [
    writeVersion(version),
    body,
    String(keptMs ?? ""),
    entry,
  ]),
  read: readNumber,
  keys: ({ prefix }) => [recordKeyOf(prefix), actionsKeyOf(prefix)],
  twin: (_, __, { now }) => [now, 0],
};

/** Reads the log of actions of a prefix. The reply has 1 and the bytes of the entries, newest first, a line each. */
export const actions: Operation<string> = {
  ...goesAlone("read-actions", actionsLua, () => []),
  read(calls, reply) {
    const [clock, status, text]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return calls.map(() => readText(clock, status, text));
  },
  keys: (prefix) => [actionsKeyOf(prefix)],
  twin: (_, __, { now }) => [now, 1],
};

/** Entries of the log to replace. */
export interface RedactCall {
  readonly prefix: string;
  /** Stored entries, with their time, each with its replacement. */
  readonly replacements: ReadonlyArray<readonly [entry: string, replacement: string]>;
}

/** Replaces entries of the log of actions. The reply has the number of entries replaced. */
export const redact: Operation<RedactCall> = {
  ...goesAlone("redact-actions", redactLua, ({ replacements }: RedactCall) => replacements.flat()),
  read: readNumber,
  keys: ({ prefix }) => [actionsKeyOf(prefix)],
  twin: (_, __, { now }) => [now, 0],
};

/** A step whose calls are sent one by one: each is as much work as fits one script. */
function goesAlone<Call>(
  name: string,
  script: LuaSource,
  argsOf: (call: Call) => readonly string[],
): Pick<Operation<Call>, "name" | "kind" | "line" | "prepare" | "weight"> {
  return {
    name,
    kind: name,
    line: () => script,
    prepare: ([call], _, clock) => ({ script, args: [clock, "0", ...argsOf(call as Call)] }),
    weight: () => 256,
  };
}

/** Reads a reply of the clock and one number. */
function readNumber(calls: readonly unknown[], reply: unknown): Replies {
  const numbers: readonly number[] = Array.isArray(reply) ? reply.map(readInteger) : [];
  const isSound = numbers.length === 2 && numbers.every(Number.isSafeInteger);
  return calls.map(() => (isSound ? numbers : undefined));
}

/** A reply with a text beside its integers, so that a large text need not be copied into an array. */
interface TextReply extends Array<number> {
  bytes?: Uint8Array;
}

function readText(clock: unknown, state: unknown, text: unknown): readonly number[] | undefined {
  const head = [readInteger(clock), readInteger(state)];
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const isSound = bytes instanceof Uint8Array && head.every(Number.isSafeInteger);
  return isSound ? withBytes(head, bytes) : undefined;
}

/** A reply of integers with a text. */
export function withBytes(integers: readonly number[], bytes: Uint8Array): readonly number[] {
  const reply: TextReply = [...integers];
  reply.bytes = bytes;
  return reply;
}

/** The text of a reply; empty if it has none. */
export function textOf(reply: readonly number[]): string {
  const { bytes } = reply as TextReply;
  return bytes === undefined
    ? ""
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
