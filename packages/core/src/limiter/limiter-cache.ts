import { LruMap } from "../common/lru-map.ts";
import type { Policy } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { Properties } from "../policy/same-limits.ts";
import { areSameLimits, copyLimits, isSameValue } from "../policy/same-limits.ts";
import type { CountingStore } from "../store/store.ts";
import type { LimiterInstance } from "./limiter-instance.ts";

/** The most names cached for each client; the oldest is dropped first. */
const MAX_NAMES = 1_000;

/** The most limiters cached under one name, which differ in their options. */
const MAX_PER_NAME = 4;

/** The options that identify a limiter: with equal ones, `createLimiter` returns the same limiter. */
export interface LimiterIdentity {
  readonly name: string;
  readonly store: CountingStore;
  readonly limits: Policy;
  /** The limits of the limiter that it extends. */
  readonly extended: CompiledPolicy | undefined;
  /** The other options, always in the same order, compared by value. */
  readonly options: readonly unknown[];
}

interface CachedLimiter extends Omit<LimiterIdentity, "limits"> {
  readonly limits: readonly Properties[];
  readonly instance: LimiterInstance;
}

/** By the object that holds the counts, then by prefix and name. A limiter dropped from the cache still works. */
const limitersByOwner = new WeakMap<object, LruMap<string, readonly CachedLimiter[]>>();

/** Finds an open limiter with an equal identity. */
export function findLimiter(identity: LimiterIdentity): LimiterInstance | undefined {
  const cached = limitersByOwner.get(identity.store.owner)?.get(keyOf(identity));
  return cached?.find((one) => hasIdentity(one, identity))?.instance;
}

/** Caches a limiter, to be returned later for an equal identity. */
export function cacheLimiter(instance: LimiterInstance, identity: LimiterIdentity): void {
  const { owner } = identity.store;
  const names =
    limitersByOwner.get(owner) ?? new LruMap<string, readonly CachedLimiter[]>(MAX_NAMES);
  limitersByOwner.set(owner, names);
  const limits = copyLimits(identity.limits);
  const options = identity.options.map((value) => (isPlainObject(value) ? { ...value } : value));
  const others = names.get(keyOf(identity)) ?? [];
  names.set(keyOf(identity), [
    { ...identity, limits, options, instance },
    ...others.slice(0, MAX_PER_NAME - 1),
  ]);
}

/** Drops a closed limiter. */
export function uncacheLimiter(
  instance: LimiterInstance,
  identity: Pick<LimiterIdentity, "name" | "store">,
): void {
  const names = limitersByOwner.get(identity.store.owner);
  const others = names?.get(keyOf(identity))?.filter((one) => one.instance !== instance) ?? [];
  if (others.length > 0) names?.set(keyOf(identity), others);
  else names?.delete(keyOf(identity));
}

function hasIdentity(
  known: CachedLimiter,
  { store, limits, extended, options }: LimiterIdentity,
): boolean {
  return (
    known.store === store &&
    known.extended === extended &&
    options.every((value, i) => isSameValue(value, known.options[i])) &&
    areSameLimits(limits, known.limits)
  );
}

function keyOf({ store, name }: Pick<LimiterIdentity, "name" | "store">): string {
  return `${store.prefix}:${name}`;
}
