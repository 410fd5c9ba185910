import { randomBytes } from "node:crypto";
import { shareByPrefix } from "../common/client-state.ts";
import type { CountingStore } from "../store/store.ts";

/** A name for a process in the keys of a prefix: 16 random characters. */
export function createProcessName(): string {
  return randomBytes(12).toString("base64url");
}

/** The name of this process for the client and prefix of a store: the same in the registry and in usage. */
export const processNameOf: (store: CountingStore) => { readonly name: string } = shareByPrefix(
  "processName",
  () => ({ name: createProcessName() }),
);
