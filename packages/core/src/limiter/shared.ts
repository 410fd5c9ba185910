import type { Store } from "../store/store.ts";

type Shared = { [registry: symbol]: WeakMap<object, unknown> | undefined };

/**
 * What belongs to one object for every copy of this package in the process: two copies, of two formats or versions, must not
 * take the same counters for different ones. Made when it is first asked for.
 */
export function sharedBy<T>(owner: object, what: string, make: () => T): T {
  const registry = Symbol.for(`@headgate/core/1.${what}`);
  const shared = globalThis as Shared;
  shared[registry] ??= new WeakMap();
  const known = shared[registry].get(owner) as T | undefined;
  if (known !== undefined) return known;
  const made = make();
  shared[registry].set(owner, made);
  return made;
}

/** The same of a client and prefix. */
export function sharedByPrefix<T>({ owner, prefix }: Store, what: string, make: () => T): T {
  const all = sharedBy(owner, what, () => new Map<string, T>());
  const known = all.get(prefix);
  if (known !== undefined) return known;
  const made = make();
  all.set(prefix, made);
  return made;
}
