import { defineListOperation } from "../operations/list-script.ts";
import type { Operation } from "../store/store.ts";
import { registryLua } from "./lua.generated.ts";

/** A record that several processes share, identified by a hash of its content. */
export interface SharedRecord {
  readonly hash: string;
  /** Empty to extend the record's life without writing it. */
  readonly text: string;
}

/** The part of a registry that one process maintains. */
export interface RegistryCall {
  readonly prefix: string;
  /** The name of the process: 16 characters. */
  readonly process: string;
  /** Its record; empty if the process leaves. */
  readonly record: string;
  /** For how many milliseconds the record is kept. */
  readonly ttlMs: number;
  /** The same for shared records and the index. */
  readonly sharedTtlMs: number;
  readonly shared: readonly SharedRecord[];
}

/** The state of the index, as reported by the operation. */
export const INDEX_STATES = {
  new: 0,
  known: 1,
  full: 2,
  wrongType: -1,
} as const;

/** The key of the index of a prefix's processes. Counter keys have three parts after the subject, so it cannot be one. */
export function registryKey(prefix: string): string {
  return `${prefix}:{registry}`;
}

/** The key of a process's record, by the name of the process. */
export function processKey(prefix: string, process: string): string {
  return `${registryKey(prefix)}:process/${process}`;
}

/** The key of a shared record, by its hash. */
export function sharedRecordKey(prefix: string, hash: string): string {
  return `${registryKey(prefix)}:record/${hash}`;
}

/**
 * Extends the life of a process and its records in the registry. The reply has the state of the index, as in `INDEX_STATES`,
 * and for each shared record 1 if it exists, 0 if it has to be written.
 */
export const updateRegistry: Operation<RegistryCall> = {
  ...defineListOperation("registry", {
    source: registryLua,
    parameters: ({ process, record, ttlMs, sharedTtlMs, shared }: RegistryCall) => [
      process,
      record,
      ttlMs,
      sharedTtlMs,
      shared.length,
      ...shared.map(({ text }) => text),
    ],
    replySize: ({ shared }) => 1 + shared.length,
  }),
  keys: ({ prefix, process, shared }) => [
    registryKey(prefix),
    processKey(prefix, process),
    ...shared.map(({ hash }) => sharedRecordKey(prefix, hash)),
  ],
  weight: ({ shared }) => 1 + shared.length,
  // This memory belongs to a single process.
  runInMemory: ({ shared }, _, { now }) => [now, INDEX_STATES.known, ...shared.map(() => 1)],
};
