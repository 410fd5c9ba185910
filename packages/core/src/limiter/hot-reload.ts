import { codeOf } from "../errors.ts";
import { sharedBy } from "./shared.ts";

/** What frees its name as soon as it is asked to close: a limiter, middleware, a breaker. */
interface Named {
  close(): Promise<unknown>;
}

/**
 * For development, where a module is evaluated again after each change while the Redis client stays: makes a limiter,
 * middleware or a breaker, and where its name is taken with another policy, closes first what an earlier evaluation made
 * under `key`. One that did not change is shared, and nothing is closed.
 *
 * Only with `NODE_ENV=development`. Everywhere else it just calls `make`, so that a name that is used twice stays
 * `HEADGATE_DUPLICATE_NAME`.
 */
export function hotReload<T extends Named>(key: string, make: () => T): T {
  if (process.env["NODE_ENV"] !== "development") return make();
  const earlier = madeUnder(key);
  const made = makeInPlaceOf(earlier, make);
  earlier.add(made);
  return made;
}

function makeInPlaceOf<T extends Named>(earlier: Set<Named>, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (codeOf(error) !== "HEADGATE_DUPLICATE_NAME") throw error;
    // Several bundles of one application may hold one each.
    for (const one of earlier) one.close().catch(noop);
    earlier.clear();
    return make();
  }
}

function madeUnder(key: string): Set<Named> {
  const all = sharedBy(globalThis, "hot-reload", () => new Map<string, Set<Named>>());
  const known = all.get(key) ?? new Set();
  all.set(key, known);
  return known;
}

function noop(): void {}
