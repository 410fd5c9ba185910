import type { Store } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { registryOf } from "../../packages/core/src/registry/add-to-registry.ts";

/** Writes the registry of a store at once, which a process does by itself after ten seconds. */
export function writeRegistry(store: Store): Promise<void> {
  return registryOf(requireStore(store)).write();
}
