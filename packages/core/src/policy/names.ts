import { shareByClient } from "../common/client-state.ts";
import { formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import type { CountingStore } from "../store/store.ts";

/** A claim of a name on a store. Limiters whose claims have the same `identity` share their counters. */
export interface NameClaim {
  readonly identity: object;
  /** Releases the claim. Returns true if it was the last one, so that the name is free again. */
  release(): boolean;
  /** Whether any limiter claims the name now. */
  isClaimed(): boolean;
}

/** The policy that a name is claimed for. */
export interface NamedPolicy {
  /** The policy in canonical form: equal if and only if two policies count in the same way. */
  readonly canonical: string;
  /** The policy as configured, for messages. */
  readonly displayText: string;
}

interface NameEntry extends NamedPolicy {
  claims: number;
}

const nameEntriesOf = shareByClient("names", () => new Map<string, NameEntry>());

/** The maximum number of characters of a policy in an error message. */
const MAX_DISPLAY_TEXT = 280;

const PER_CALL_REMEDY =
  "; for limits that differ by customer, pass limits with each call: consume(subject, { limits }), in HTTP perRequest(...)";

/** Requires a valid name. Throws `HEADGATE_INVALID_OPTION`. */
export function requireName(name: unknown): asserts name is string {
  if (typeof name !== "string" || name === "" || name.length > 512) {
    throw invalidOption(
      `name must be a string of 1 to 512 characters, and is required with a store, because it names the counters; got ${formatReceived(name)}`,
    );
  }
}

/**
 * Claims a name on a store for a policy. Limiters with the same name and policy share the name; names of breakers are separate.
 * Throws `HEADGATE_DUPLICATE_NAME` if the name is claimed for another policy.
 */
export function claimName(
  store: CountingStore,
  name: string,
  { canonical, displayText }: NamedPolicy,
  kind = "limiter",
): NameClaim {
  const names = nameEntriesOf(store.owner);
  const id = `${kind} ${store.prefix}:${name}`;
  const entry = names.get(id) ?? { canonical, displayText, claims: 0 };
  if (entry.canonical !== canonical) {
    const remedy = kind === "limiter" ? PER_CALL_REMEDY : "";
    throw new HeadgateError(
      "HEADGATE_DUPLICATE_NAME",
      `a ${kind} named ${formatReceived(name)} with another policy exists on this store: ${shorten(entry.displayText)} is not ${shorten(displayText)}; give one of them another name, or close the first before you make the second (with hot reload: use hotReload)${remedy}`,
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

function shorten(text: string): string {
  return text.length > MAX_DISPLAY_TEXT ? `${text.slice(0, MAX_DISPLAY_TEXT - 3)}...` : text;
}
