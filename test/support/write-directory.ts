import type { Store } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { directoryOf } from "../../packages/core/src/registry/listings.ts";

/** Lists now what is made on a store, as a process does by itself after ten seconds. */
export function writeDirectory(store: Store): Promise<void> {
  return directoryOf(requireStore(store)).write();
}
