import type { Limit, MemoryStore } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { heapBytesFor } from "../log/memory-budget.ts";
import type { NamedPolicy } from "./policies.ts";

/** The highest `maxKeys` of a memory store. */
const LARGEST_MAX_KEYS = 2 ** 24;

/** The bytes of a subject in a store, with a reserve of a tenth, and those of each limit. */
const BYTES_PER_SUBJECT = 600;
const BYTES_PER_LIMIT = 80;
const BYTES_PER_SLIDING_LOG = 1_200;

/** Creates a memory store for each policy with the clock of the log. Default size: as many subjects as fit into the memory. */
export function createStores(
  policies: readonly NamedPolicy[],
  clock: () => number,
  maxKeys?: number,
): readonly MemoryStore[] {
  return policies.map(({ limits }) =>
    memoryStore({ clock, maxKeys: maxKeys ?? maxKeysFor(limits, policies.length) }),
  );
}

/** The most subjects of a store if `stores` stores share the memory. */
export function maxKeysFor(limits: readonly Limit[], stores: number): number {
  let bytes = BYTES_PER_SUBJECT;
  for (const { algorithm } of limits) {
    bytes += algorithm === "slidingLog" ? BYTES_PER_SLIDING_LOG : BYTES_PER_LIMIT;
  }
  return Math.min(LARGEST_MAX_KEYS, Math.floor(heapBytesFor("stores") / bytes / stores));
}
