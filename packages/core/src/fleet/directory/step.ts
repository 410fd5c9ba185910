import { runList } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { directoryLua } from "./lua.generated.ts";

/** A record that several processes share, identified by a hash of its content. */
export interface SharedRecord {
  readonly hash: string;
  /** Empty if it is not written, but only kept for longer. */
  readonly text: string;
}

/** What one process keeps of a directory. */
export interface DirectoryCall {
  readonly prefix: string;
  /** The name of the process: 16 characters. */
  readonly process: string;
  /** Its record; empty when it leaves. */
  readonly record: string;
  /** For how many milliseconds the record is kept. */
  readonly life: number;
  /** The same for shared records, and for the index. */
  readonly sharedLife: number;
  readonly shared: readonly SharedRecord[];
}

/** What the step reports about the index. */
export const INDEX_STATES = {
  new: 0,
  known: 1,
  full: 2,
  otherFormat: 3,
  tooLong: 4,
  wrongType: -1,
} as const;

/** Where the processes of a prefix are listed. It is no counter's key: behind the subject those have three parts. */
export function directoryKey(prefix: string): string {
  return `${prefix}:{directory}`;
}

/** Where the record of a process is, by its name. */
export function processKey(prefix: string, process: string): string {
  return `${directoryKey(prefix)}:process/${process}`;
}

/** Where a shared record is, by its hash. */
export function sharedKey(prefix: string, hash: string): string {
  return `${directoryKey(prefix)}:record/${hash}`;
}

/**
 * Keeps a process and its records in the directory for longer. The reply says what the index was, as in `INDEX_STATES`, and of each
 * shared record 1 when it is there, 0 when it has to be written.
 */
export const keepDirectory: Step<DirectoryCall> = {
  ...runList("directory", {
    source: directoryLua,
    parameters: ({ process, record, life, sharedLife, shared }: DirectoryCall) => [
      process,
      record,
      life,
      sharedLife,
      shared.length,
      ...shared.map(({ text }) => text),
    ],
    replySize: ({ shared }) => 1 + shared.length,
  }),
  keys: ({ prefix, process, shared }) => [
    directoryKey(prefix),
    processKey(prefix, process),
    ...shared.map(({ hash }) => sharedKey(prefix, hash)),
  ],
  weight: ({ shared }) => 1 + shared.length,
  // No other process sees this memory.
  twin: ({ shared }, _, { now }) => [now, INDEX_STATES.known, ...shared.map(() => 1)],
};
