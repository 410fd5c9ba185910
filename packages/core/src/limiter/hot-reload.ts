import { shareInProcess } from "../common/client-state.ts";
import { codeOf } from "../common/errors.ts";

/** Something that `hotReload` can close: a limiter, middleware or a breaker. `close` frees its name at once. */
interface Closable {
  close(): Promise<unknown>;
}

/**
 * For development with hot reload, where a module is evaluated again after each change while the Redis client stays. Creates a
 * limiter, middleware or a breaker. If its name is taken with another policy, closes what earlier evaluations created under
 * `key`, and creates it again. With the same policy nothing is closed.
 *
 * Only with `NODE_ENV=development`. Otherwise it just calls `create`, so that using a name twice is still a
 * `HEADGATE_DUPLICATE_NAME`.
 */
export function hotReload<T extends Closable>(key: string, create: () => T): T {
  if (process.env["NODE_ENV"] !== "development") return create();
  const earlier = createdUnder(key);
  const created = createInsteadOf(earlier, create);
  earlier.add(created);
  return created;
}

function createInsteadOf<T extends Closable>(earlier: Set<Closable>, create: () => T): T {
  try {
    return create();
  } catch (error) {
    if (codeOf(error) !== "HEADGATE_DUPLICATE_NAME") throw error;
    // Frameworks may evaluate a module once for each bundle.
    for (const one of earlier) one.close().catch(() => {});
    earlier.clear();
    return create();
  }
}

const createdByKey = shareInProcess("hotReload", () => new Map<string, Set<Closable>>());

function createdUnder(key: string): Set<Closable> {
  const all = createdByKey();
  const known = all.get(key) ?? new Set();
  all.set(key, known);
  return known;
}
