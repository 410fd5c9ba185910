import { LRUCache } from "lru-cache";
import { rejectForm } from "../algorithms/compile-limit.ts";
import { eachLimit } from "../algorithms/compile-policy.ts";
import { isPlainObject } from "../plain-object.ts";
import type { Limit, Policy } from "../policy.ts";
import type { CountedPolicy } from "./counted-policy.ts";

/** The most policies cached; the least recently used is dropped first. */
const MAX_POLICIES = 10_000;

type Properties = Readonly<Record<string, unknown>>;

/** A policy that calls brought, compiled. */
interface KnownPolicy {
  /** Copies of its limits, because the application may change its own. */
  readonly limits: readonly Properties[];
  readonly counted: CountedPolicy;
}

/**
 * The policies that calls bring, each compiled once while it is cached. They are found by a hash of their numbers and compared
 * property by property, even if the same object came before: it may have changed since, and serialising it would take as
 * long as a decision. Of two with the same hash, which is rare, the later one is kept.
 */
export class CalledLimits {
  readonly #compile: (limits: readonly Limit[]) => CountedPolicy;
  readonly #known = new LRUCache<number, KnownPolicy>({ max: MAX_POLICIES });

  /** `compile` throws `HEADGATE_INVALID_LIMIT` for limits that cannot be in force. */
  constructor(compile: (limits: readonly Limit[]) => CountedPolicy) {
    this.#compile = compile;
  }

  /** The policy, compiled. Throws `HEADGATE_INVALID_LIMIT`. */
  of(policy: Policy): CountedPolicy {
    const known = this.#known.get(hashOf(policy));
    if (known !== undefined && saysSame(policy, known.limits)) return known.counted;
    const limits = eachLimit(policy, copyLimit);
    const counted = this.#compile(limits as unknown as Limit[]);
    this.#known.set(hashOf(limits), { limits, counted });
    return counted;
  }
}

/** A copy, so that each property is read once. */
function copyLimit(limit: unknown): Properties {
  if (!isPlainObject(limit)) rejectForm(limit);
  const { block, ...properties } = limit;
  if (block === undefined) return properties;
  return { ...properties, block: Array.isArray(block) ? [...block] : block };
}

/** 32 bits of the numbers that a policy holds. */
function hashOf(policy: unknown): number {
  if (!Array.isArray(policy)) return mix(0, policy);
  let hash = 0;
  for (let i = 0; i < policy.length; i += 1) hash = mix(hash, policy[i]);
  return hash;
}

function mix(hash: number, limit: unknown): number {
  if (typeof limit !== "object" || limit === null) return hash;
  let mixed = hash;
  for (const value of Object.values(limit)) {
    if (typeof value === "number") mixed = Math.imul(mixed ^ value, 0x9e3779b1) ^ (mixed >>> 15);
  }
  return mixed;
}

function saysSame(policy: unknown, limits: readonly Properties[]): boolean {
  if (!Array.isArray(policy)) return limits.length === 1 && isSame(policy, limits[0] as Properties);
  return (
    policy.length === limits.length &&
    limits.every((limit, i) => isSame(policy[i] as unknown, limit))
  );
}

function isSame(limit: unknown, known: Properties): boolean {
  return isPlainObject(limit) && agrees(limit, known) && agrees(known, limit);
}

/** Whether two limits have the same properties; undefined ones do not count. */
function agrees(one: Properties, other: Properties): boolean {
  for (const name of Object.keys(one)) {
    if (one[name] !== other[name] && !isSameList(one[name], other[name])) return false;
  }
  return true;
}

function isSameList(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return false;
  return one.length === other.length && one.every((item, i) => item === other[i]);
}
