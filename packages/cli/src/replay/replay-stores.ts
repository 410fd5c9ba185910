import { getHeapStatistics } from "node:v8";
import type { MemoryStore } from "@headgate/core";
import { memoryStore } from "@headgate/core";

/** What a store keeps at most. */
const LARGEST_MAX_KEYS = 2 ** 24;

/** What a subject takes, with room to spare. */
const BYTES_PER_KEY = 800;

/** A store in this process for each policy, on the log's clock. Default: all subjects that there is memory for. */
export function inMemory(
  policies: number,
  clock: () => number,
  maxKeys: number = keysThatFit(policies),
): readonly MemoryStore[] {
  return Array.from({ length: policies }, () => memoryStore({ clock, maxKeys }));
}

/** As many subjects as half of what this process may allocate has room for. */
function keysThatFit(policies: number): number {
  const { heap_size_limit: bytes } = getHeapStatistics();
  return Math.min(LARGEST_MAX_KEYS, Math.floor(bytes / 2 / BYTES_PER_KEY / policies));
}
