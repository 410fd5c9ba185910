import { prefixPart } from "../../client-state.ts";
import type { Store } from "../../store/store.ts";
import { onceRefused } from "../refusal.ts";
import type { HttpUse, ListedRecord } from "./directory.ts";
import { ProcessDirectory } from "./process-directory.ts";

/** Lists a limiter or a breaker in the directory of its store, until its name is removed; does nothing if the store keeps none. */
export function list(store: Store, record: ListedRecord): void {
  if (store.directory === true) directoryOf(store).add(record, store);
}

/** Notes how an adapter uses a limiter. */
export function noteUse(store: Store, limiter: string, use: HttpUse): void {
  if (store.directory === true) directoryOf(store).addUse("limiter", limiter, use);
}

/** Removes a name that this process does not use any more. Waits for the store a moment at most, and never rejects. */
export async function unlist(
  store: Store,
  kind: ListedRecord["kind"],
  name: string,
): Promise<void> {
  if (store.directory === true) await directoryOf(store).remove(kind, name, store);
}

/** What this process lists for the client and prefix of a store. */
export const directoryOf: (store: Store) => ProcessDirectory = prefixPart(
  "directory",
  ({ prefix }) => {
    const onRefused = onceRefused(
      "HEADGATE_DIRECTORY_REFUSED",
      (why) =>
        `this process is not in the directory that operators' tools read: ${why}; limits are decided as usual, and the write is tried again every 30 seconds; redisStore(client, { directory: false }) turns the directory off`,
    );
    return new ProcessDirectory(prefix, onRefused);
  },
);
