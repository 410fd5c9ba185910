import { shareInProcess } from "../common/client-state.ts";
import { codeOf } from "../common/errors.ts";

/** Something that `hotReload` can close: a limiter, middleware or a breaker. `close` frees its name at once. */
interface Named {
  close(): Promise<unknown>;
}

/**
 * For development with hot reload, where a module is evaluated again after each change while the Redis client stays. Creates a
 * limiter, middleware or a breaker. If its name is taken with another policy, closes what earlier evaluations created under
 * `key`, and creates it again. With the same policy nothing is closed.
 *
 * Only with `NODE_ENV=development`. Otherwise it just calls `make`, so that using a name twice is still a
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
    // Frameworks may evaluate a module once for each bundle.
    for (const one of earlier) one.close().catch(() => {});
    earlier.clear();
    return make();
  }
}

const hotReloaded = shareInProcess("hotReload", () => new Map<string, Set<Named>>());

function madeUnder(key: string): Set<Named> {
  const all = hotReloaded();
  const known = all.get(key) ?? new Set();
  all.set(key, known);
  return known;
}
