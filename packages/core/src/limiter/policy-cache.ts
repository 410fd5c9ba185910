import { LruMap } from "../common/lru-map.ts";
import type { Limit, Policy } from "../common/policy.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { Properties } from "../policy/same-limits.ts";
import { areSameLimits, copyLimits } from "../policy/same-limits.ts";
import type { PerCallPolicies } from "./per-call-policies.ts";

/** The most policies cached; the least recently used is evicted first. */
const MAX_POLICIES = 10_000;

/** Compiles the policies of calls, without the limits of an extended limiter. */
export interface PolicyCompiler {
  /** The limiter's own policy with other numbers; undefined for limits of another shape. Throws `HEADGATE_INVALID_LIMIT`. */
  compileSameShape(limits: readonly Limit[]): CompiledPolicy | undefined;
  /** Throws `HEADGATE_INVALID_LIMIT`. */
  compileOtherShape(limits: readonly Limit[]): CompiledPolicy;
  /** Adds the limits of an extended limiter. */
  join(own: CompiledPolicy): CompiledPolicy;
}

/** A policy passed with calls. */
interface CachedPolicy {
  /** Copies of its limits, because the application may change its own objects. */
  readonly limits: readonly Properties[];
  /** The compiled policy; undefined if it has another shape with counters of its own, which may be forgotten. */
  readonly compiled: CompiledPolicy | undefined;
  readonly shape: string;
}

/**
 * The policies passed with calls, each compiled once while it is cached. They are found by a hash of their numbers and compared
 * property by property, even if the same object was passed before: it may have changed since, and serialising it would take as
 * long as a decision. Of two with the same hash, which is rare, the later one is kept.
 */
export class PolicyCache {
  readonly #compiler: PolicyCompiler;
  readonly #perCallPolicies: PerCallPolicies;
  readonly #cached = new LruMap<number, CachedPolicy>(MAX_POLICIES);

  constructor(compiler: PolicyCompiler, shapes: PerCallPolicies) {
    this.#compiler = compiler;
    this.#perCallPolicies = shapes;
  }

  /** The policy, compiled. Throws `HEADGATE_INVALID_LIMIT`. */
  compile(policy: Policy): CompiledPolicy {
    const cached = this.#cached.get(hashOf(policy));
    if (cached !== undefined && areSameLimits(policy, cached.limits)) {
      const counted = cached.compiled ?? this.#perCallPolicies.find(cached.shape, cached);
      if (counted !== undefined) return counted;
    }
    const limits = copyLimits(policy);
    const same = this.#compiler.compileSameShape(limits as unknown as Limit[]);
    return same === undefined ? this.#compileOtherShape(limits) : this.#add(limits, same);
  }

  #add(limits: readonly Properties[], own: CompiledPolicy): CompiledPolicy {
    const compiled = this.#compiler.join(own);
    this.#cached.set(hashOf(limits), { limits, compiled, shape: "" });
    return compiled;
  }

  #compileOtherShape(limits: readonly Properties[]): CompiledPolicy {
    const own = this.#compiler.compileOtherShape(limits as unknown as Limit[]);
    const cached: CachedPolicy = {
      limits,
      compiled: undefined,
      shape: own.perCallKeyspace as string,
    };
    const compiled = this.#perCallPolicies.add(cached, own, this.#compiler.join);
    const isApart = own.perCallKeyspace !== own.keyspace;
    this.#cached.set(hashOf(limits), isApart ? cached : { ...cached, compiled });
    return compiled;
  }
}

/** A 32-bit hash of the numbers and durations in a policy. */
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
    const bits = typeof value === "string" ? bitsOf(value) : value;
    if (typeof bits === "number") mixed = Math.imul(mixed ^ bits, 0x9e3779b1) ^ (mixed >>> 15);
  }
  return mixed;
}

/**
 * Bits from both ends of a text, which covers most durations completely. Beyond an end, a character code is NaN, which adds
 * nothing.
 */
function bitsOf(text: string): number {
  const { length } = text;
  const begin = text.charCodeAt(0) ^ (text.charCodeAt(1) << 8);
  const end = (text.charCodeAt(length - 2) << 16) ^ (text.charCodeAt(length - 1) << 24);
  return length ^ begin ^ end;
}
