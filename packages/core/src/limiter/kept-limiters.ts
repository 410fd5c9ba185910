import { LruMap } from "../common/lru-map.ts";
import { isPlainObject } from "../common/plain-object.ts";
import type { Policy } from "../common/policy.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { Properties } from "../policy/same-limits.ts";
import { areSameLimits, copyLimits, isSameValue } from "../policy/same-limits.ts";
import type { CountingStore } from "../store/store.ts";
import type { LimiterInstance } from "./limiter-instance.ts";

/** The most names kept for each client; the oldest is dropped first. */
const MAX_NAMES = 1_000;

/** The most limiters kept under one name, which differ in their options. */
const MAX_ALIKE = 4;

/** Two limiters with equal terms are one limiter. */
export interface LimiterTerms {
  readonly name: string;
  readonly store: CountingStore;
  readonly limits: Policy;
  /** The limits of the limiter that it extends. */
  readonly extended: CompiledPolicy | undefined;
  /** The other options, always in the same order, compared by value. */
  readonly options: readonly unknown[];
}

interface KeptLimiter extends Omit<LimiterTerms, "limits"> {
  readonly limits: readonly Properties[];
  readonly shared: LimiterInstance;
}

/** By the object that holds the counts, then by prefix and name. A dropped limiter goes on working for its users. */
const kept = new WeakMap<object, LruMap<string, readonly KeptLimiter[]>>();

/** Finds an open limiter that was created under equal terms. */
export function findLimiter(terms: LimiterTerms): LimiterInstance | undefined {
  const alike = kept.get(terms.store.owner)?.get(idOf(terms));
  return alike?.find((one) => isUnder(one, terms))?.shared;
}

/** Keeps a limiter, to be returned for equal terms later. */
export function keepLimiter(shared: LimiterInstance, terms: LimiterTerms): void {
  const { owner } = terms.store;
  const names = kept.get(owner) ?? new LruMap<string, readonly KeptLimiter[]>(MAX_NAMES);
  kept.set(owner, names);
  const limits = copyLimits(terms.limits);
  const options = terms.options.map((value) => (isPlainObject(value) ? { ...value } : value));
  const others = names.get(idOf(terms)) ?? [];
  names.set(idOf(terms), [
    { ...terms, limits, options, shared },
    ...others.slice(0, MAX_ALIKE - 1),
  ]);
}

/** Drops a closed limiter. */
export function dropLimiter(
  shared: LimiterInstance,
  place: Pick<LimiterTerms, "name" | "store">,
): void {
  const names = kept.get(place.store.owner);
  const others = names?.get(idOf(place))?.filter((one) => one.shared !== shared) ?? [];
  if (others.length > 0) names?.set(idOf(place), others);
  else names?.delete(idOf(place));
}

function isUnder(known: KeptLimiter, { store, limits, extended, options }: LimiterTerms): boolean {
  return (
    known.store === store &&
    known.extended === extended &&
    options.every((value, i) => isSameValue(value, known.options[i])) &&
    areSameLimits(limits, known.limits)
  );
}

function idOf({ store, name }: Pick<LimiterTerms, "name" | "store">): string {
  return `${store.prefix}:${name}`;
}
