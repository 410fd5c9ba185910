/*
 * State shared by all copies of Headgate in a process: two copies, such as two versions, must not count the same counters
 * separately. A feature declares its state under a name of its own, and it is created on first use.
 */

/** Change this with the methods or fields of any part: copies with different symbols share nothing. */
const STATES: unique symbol = Symbol.for("@headgate/core/2.state") as never;

type State = Record<string, unknown>;

const shared = globalThis as { [STATES]?: WeakMap<object, State> };

function stateOf(owner: object): State {
  shared[STATES] ??= new WeakMap();
  const known = shared[STATES].get(owner) ?? {};
  shared[STATES].set(owner, known);
  return known;
}

/** Declares state of each client, which is the owner of a store. */
export function shareByClient<Owner extends object, T extends object, More extends unknown[]>(
  name: string,
  create: (owner: Owner, ...more: More) => T,
): (owner: Owner, ...more: More) => T {
  return (owner, ...more) => {
    const state = stateOf(owner);
    state[name] ??= create(owner, ...more);
    return state[name] as T;
  };
}

/** The client and prefix of a store. */
interface PrefixOwner {
  readonly owner: object;
  readonly prefix: string;
}

/** Declares state of each client and prefix. After `drop`, it is created again on next use. */
export function shareByPrefix<Owner extends PrefixOwner, T extends object>(
  name: string,
  create: (store: Owner, drop: () => void) => T,
): (store: Owner) => T {
  return (store) => {
    const state = stateOf(store.owner);
    const key = `${name} ${store.prefix}`;
    state[key] ??= create(store, () => delete state[key]);
    return state[key] as T;
  };
}

/** Declares state of the process. */
export function shareInProcess<T extends object>(name: string, create: () => T): () => T {
  return () => {
    const state = stateOf(globalThis);
    state[name] ??= create();
    return state[name] as T;
  };
}
