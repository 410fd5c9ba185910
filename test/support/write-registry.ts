import type { Store } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { registryOf } from "../../packages/core/src/registry/add-to-registry.ts";

/** Lists now what is made on a store, as a process does by itself after ten seconds. */
export function writeRegistry(store: Store): Promise<void> {
  return registryOf(requireStore(store)).write();
}
