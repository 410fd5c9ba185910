import { formatReceived } from "../common/errors.ts";
import { LruMap } from "../common/lru-map.ts";
import { emitWarning, isFirstWarning } from "../common/operator-log.ts";
import type { Limit, Policy } from "../common/policy.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { Properties } from "../policy/effective-limits.ts";
import { areSameLimits, copyLimits } from "../policy/effective-limits.ts";
import { shareKeyCache } from "../policy/per-call-policy.ts";

/** Compiles the policies of calls, without the limits of an extended limiter. */
export interface PolicyCompiler {
  /** The limiter's own policy with other numbers; undefined for limits of another shape. Throws `HEADGATE_INVALID_LIMIT`. */
  compileSameShape(limits: readonly Limit[]): CompiledPolicy | undefined;
  /** Throws `HEADGATE_INVALID_LIMIT`. */
  compileOtherShape(limits: readonly Limit[]): CompiledPolicy;
  /** Adds the limits of an extended limiter. */
  join(own: CompiledPolicy): CompiledPolicy;
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

interface CachedPolicy {
  /** Copies of its limits, because the application may change its own objects. */
  readonly limits: readonly Properties[];
  /** The compiled policy; undefined if it has another shape with counters of its own, which may be forgotten. */
  readonly compiled: CompiledPolicy | undefined;
  readonly shape: string;
}

/**
 * The policies of another shape that a limiter's calls have passed. At most 64 shapes are in use at a time: with one more, this
 * process forgets the least recently used. Its counters stay in the store, and continue when it is used again.
 */
export class PerCallPolicies {
  /** Whether any call has used another shape. */
  isUsed = false;
  /** Whether any of them has counted slots. */
  hasSlots = false;
  /** Whether any of them has blocked on confirmed charges. */
  blocksOnSettle = false;
  readonly #name: string;
  readonly #tracker: PerCallPolicyTracker | undefined;
  readonly #inUse = new LruMap<string, Shape>(MAX_SHAPES);

  constructor(name: string, tracker: PerCallPolicyTracker | undefined) {
    this.#name = name;
    this.#tracker = tracker;
  }

  /** A policy, by its key in the cache; undefined if it, or its shape, was forgotten. */
  find(shape: string, key: object): CompiledPolicy | undefined {
    return this.#inUse.get(shape)?.policiesByCacheEntry.get(key);
  }

  /**
   * Takes a policy into use, under a key in the cache. `own` is the policy without the limits of an extended limiter, and
   * `join` adds them.
   */
  add(
    key: object,
    own: CompiledPolicy,
    join: (own: CompiledPolicy) => CompiledPolicy,
  ): CompiledPolicy {
    const id = own.perCallKeyspace as string;
    this.isUsed = true;
    this.hasSlots ||= own.hasSlots;
    this.blocksOnSettle ||= own.blocksOnSettle;
    // The same shape; only its limits have other names.
    if (id === own.keyspace) return join(own);
    const before = this.#inUse.get(id);
    if (before !== undefined) {
      const counted = join(shareKeyCache(own, before.own));
      before.policiesByCacheEntry.set(key, counted);
      return counted;
    }
    const joined = join(own);
    this.#addShape(id, { own, joined, policiesByCacheEntry: new WeakMap([[key, joined]]) });
    return joined;
  }

  #addShape(id: string, shape: Shape): void {
    const forgotten = this.#inUse.set(id, shape);
    this.#tracker?.add(shape.own);
    if (forgotten === undefined) return;
    this.#tracker?.remove(forgotten.own);
    warnOfMany(this.#name);
  }

  /** Takes all of them out of use. */
  close(): void {
    for (const { own } of this.#inUse.values()) this.#tracker?.remove(own);
  }

  /** One policy of each shape in use. */
  *policies(): Generator<CompiledPolicy> {
    for (const { joined } of this.#inUse.values()) yield joined;
  }
}

/** The most shapes of per-call policies in use at a time, for one limiter. */
export const MAX_SHAPES = 64;

/** Is called with each shape that comes into use or is forgotten, as a policy without the limits of an extended limiter. */
export interface PerCallPolicyTracker {
  add(policy: CompiledPolicy): void;
  remove(policy: CompiledPolicy): void;
}

interface Shape {
  /** The first policy of this shape, without and with the limits of an extended limiter. */
  readonly own: CompiledPolicy;
  readonly joined: CompiledPolicy;
  /** Its policies, each by its key in the cache, and forgotten together with the shape. */
  readonly policiesByCacheEntry: WeakMap<object, CompiledPolicy>;
}

function warnOfMany(name: string): void {
  if (!isFirstWarning(process, "HEADGATE_TOO_MANY_SHAPES")) return;
  emitWarning(
    "HEADGATE_TOO_MANY_SHAPES",
    `calls of the limiter ${formatReceived(name)} brought limits of more than ${MAX_SHAPES} shapes, each with a counter of its own. If a client can choose them, it can choose a fresh counter: take limits from your own data, and let them differ in numbers rather than in windows: each shape also leaves scripts of 8 to 19 KB in Redis, which servers before Redis 7.4 and Valkey 8.0 keep until they restart or get SCRIPT FLUSH`,
  );
}

/** The most policies cached; the least recently used is evicted first. */
const MAX_POLICIES = 10_000;

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
