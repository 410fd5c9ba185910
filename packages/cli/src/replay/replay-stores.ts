import type { Limit, MemoryStore } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { heapBytesFor } from "../log/memory-budget.ts";
import type { NamedPolicy } from "./policies.ts";

/** What a store keeps at most. */
const LARGEST_MAX_KEYS = 2 ** 24;

/** Bytes of a subject in a store, with a tenth to spare, and those of each of its limits. */
const BYTES_PER_SUBJECT = 600;
const BYTES_PER_LIMIT = 80;
const BYTES_PER_SLIDING_LOG = 1_200;

/** A store in this process for each policy, on the log's clock. Default: as many subjects as fit into the memory. */
export function createStores(
  policies: readonly NamedPolicy[],
  clock: () => number,
  maxKeys?: number,
): readonly MemoryStore[] {
  return policies.map(({ limits }) =>
    memoryStore({ clock, maxKeys: maxKeys ?? maxKeysFor(limits, policies.length) }),
  );
}

/** The most subjects of a store, where so many stores share the memory. */
export function maxKeysFor(limits: readonly Limit[], stores: number): number {
  let bytes = BYTES_PER_SUBJECT;
  for (const { algorithm } of limits) {
    bytes += algorithm === "slidingLog" ? BYTES_PER_SLIDING_LOG : BYTES_PER_LIMIT;
  }
  return Math.min(LARGEST_MAX_KEYS, Math.floor(heapBytesFor("stores") / bytes / stores));
}
