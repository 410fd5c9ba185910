import { LruMap } from "../base/lru-map.ts";
import type { Limit, Policy } from "../base/policy.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { Properties } from "../counting/same-limits.ts";
import { areSameLimits, copyLimits } from "../counting/same-limits.ts";

/** The most policies cached; the least recently used is dropped first. */
const MAX_POLICIES = 10_000;

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
  readonly #known = new LruMap<number, KnownPolicy>(MAX_POLICIES);

  /** `compile` throws `HEADGATE_INVALID_LIMIT` for limits that cannot be in force. */
  constructor(compile: (limits: readonly Limit[]) => CountedPolicy) {
    this.#compile = compile;
  }

  /** The policy, compiled. Throws `HEADGATE_INVALID_LIMIT`. */
  of(policy: Policy): CountedPolicy {
    const known = this.#known.get(hashOf(policy));
    if (known !== undefined && areSameLimits(policy, known.limits)) return known.counted;
    const limits = copyLimits(policy);
    const counted = this.#compile(limits as unknown as Limit[]);
    this.#known.set(hashOf(limits), { limits, counted });
    return counted;
  }
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
