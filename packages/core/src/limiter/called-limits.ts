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
  ofSameShape(limits: readonly Limit[]): CompiledPolicy | undefined;
  /** Throws `HEADGATE_INVALID_LIMIT`. */
  ofOtherShape(limits: readonly Limit[]): CompiledPolicy;
  /** Adds the limits of an extended limiter. */
  join(own: CompiledPolicy): CompiledPolicy;
}

/** A policy passed with calls. */
interface KnownPolicy {
  /** Copies of its limits, because the application may change its own objects. */
  readonly limits: readonly Properties[];
  /** The compiled policy; undefined if it has another shape with counters of its own, which may be forgotten. */
  readonly counted: CompiledPolicy | undefined;
  readonly shape: string;
}

/**
 * The policies passed with calls, each compiled once while it is cached. They are found by a hash of their numbers and compared
 * property by property, even if the same object was passed before: it may have changed since, and serialising it would take as
 * long as a decision. Of two with the same hash, which is rare, the later one is kept.
 */
export class CalledLimits {
  readonly #compiler: PolicyCompiler;
  readonly #shapes: PerCallPolicies;
  readonly #known = new LruMap<number, KnownPolicy>(MAX_POLICIES);

  constructor(compiler: PolicyCompiler, shapes: PerCallPolicies) {
    this.#compiler = compiler;
    this.#shapes = shapes;
  }

  /** The policy, compiled. Throws `HEADGATE_INVALID_LIMIT`. */
  of(policy: Policy): CompiledPolicy {
    const known = this.#known.get(hashOf(policy));
    if (known !== undefined && areSameLimits(policy, known.limits)) {
      const counted = known.counted ?? this.#shapes.find(known.shape, known);
      if (counted !== undefined) return counted;
    }
    const limits = copyLimits(policy);
    const same = this.#compiler.ofSameShape(limits as unknown as Limit[]);
    return same === undefined ? this.#ofOtherShape(limits) : this.#keep(limits, same);
  }

  #keep(limits: readonly Properties[], own: CompiledPolicy): CompiledPolicy {
    const counted = this.#compiler.join(own);
    this.#known.set(hashOf(limits), { limits, counted, shape: "" });
    return counted;
  }

  #ofOtherShape(limits: readonly Properties[]): CompiledPolicy {
    const own = this.#compiler.ofOtherShape(limits as unknown as Limit[]);
    const known: KnownPolicy = { limits, counted: undefined, shape: own.perCallKeyspace as string };
    const counted = this.#shapes.add(known, own, this.#compiler.join);
    const isApart = own.perCallKeyspace !== own.keyspace;
    this.#known.set(hashOf(limits), isApart ? known : { ...known, counted });
    return counted;
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
