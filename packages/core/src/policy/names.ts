import { shareByClient } from "../common/client-state.ts";
import { formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import type { CountingStore } from "../store/store.ts";

/** A claimed name, identified by owner, prefix and name: limiters that share this object share their counts. */
export interface NameClaim {
  readonly identity: object;
  /** Releases the name. The last holder frees it and gets true. */
  release(): boolean;
  /** Whether a limiter holds the name now. */
  isClaimed(): boolean;
}

/** The policy that a name is claimed for. */
export interface NamedPolicy {
  /** Equal if and only if two policies count the same. */
  readonly canonical: string;
  /** The policy as configured, for messages. */
  readonly displayText: string;
}

interface NameEntry {
  /** The canonical form. */
  readonly canonical: string;
  /** Missing if another version of this package claimed the name. */
  readonly displayText?: string | undefined;
  claims: number;
}

const nameEntriesOf = shareByClient("names", () => new Map<string, NameEntry>());

/** How many characters of a policy go into a message. */
const MAX_DISPLAY_TEXT = 300;

/** Throws `HEADGATE_INVALID_OPTION` for an invalid name. */
export function requireName(name: unknown): asserts name is string {
  if (typeof name !== "string" || name === "" || name.length > 512) {
    throw invalidOption(
      `name must be a string of 1 to 512 characters, and is required with a store, because it names the counters; got ${formatReceived(name)}`,
    );
  }
}

/**
 * Claims a name on a store for a policy. A limiter with the same name and policy is the same limiter; names of breakers are
 * separate. Throws `HEADGATE_DUPLICATE_NAME` if the name is claimed for another policy.
 */
export function claimName(
  store: CountingStore,
  name: string,
  { canonical, displayText }: NamedPolicy,
  kind = "limiter",
): NameClaim {
  const names = nameEntriesOf(store.owner);
  const id = `${kind} ${store.prefix}:${name}`;
  const entry = names.get(id) ?? { canonical: canonical, displayText, claims: 0 };
  if (entry.canonical !== canonical) {
    const first = entry.displayText ?? entry.canonical;
    throw new HeadgateError(
      "HEADGATE_DUPLICATE_NAME",
      `a ${kind} named ${formatReceived(name)} with another policy exists on this store: ${shorten(first)} is not ${shorten(displayText)}; give one of them another name, or close the first before you make the second (with hot reload: use hotReload)`,
    );
  }
  entry.claims += 1;
  names.set(id, entry);
  let released = false;
  return {
    identity: entry,
    release() {
      if (released) return false;
      released = true;
      entry.claims -= 1;
      return entry.claims === 0 && names.delete(id);
    },
    isClaimed: () => names.has(id),
  };
}

function shorten(written: string): string {
  return written.length > MAX_DISPLAY_TEXT
    ? `${written.slice(0, MAX_DISPLAY_TEXT - 3)}...`
    : written;
}
