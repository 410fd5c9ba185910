import { shareByPrefix } from "../common/client-state.ts";
import { processNameOf } from "../registry/process-registry.ts";
import { logFirstRefusal } from "../registry/refusal.ts";
import type { CountingStore } from "../store/store.ts";
import { ProcessUsage } from "./process-usage.ts";
import type { UsageCounter } from "./usage-counter.ts";

/** The counts of a limiter, until its name is removed; undefined if its store keeps no usage. */
export function startUsage(store: CountingStore, name: string): UsageCounter | undefined {
  return store.usage && usageOf(store).add(store, name, store.usage);
}

/** Stops counting for a limiter that this process no longer has. Waits only briefly for the store, and never rejects. */
export async function stopUsage(store: CountingStore, name: string): Promise<void> {
  if (store.usage !== undefined) await usageOf(store).remove(name);
}

/** The counts of this process for the client and prefix of a store. */
export const usageOf: (store: CountingStore) => ProcessUsage = shareByPrefix("usage", (store) => {
  const onRefused = logFirstRefusal(
    "HEADGATE_USAGE_REFUSED",
    (why) =>
      `this process cannot add its counts to the usage that operators' tools read: ${why}; limits are decided as usual, and the write is tried again every five seconds`,
  );
  return new ProcessUsage(store.prefix, onRefused, processNameOf(store).name);
});
