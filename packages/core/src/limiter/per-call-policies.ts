import { shareInProcess } from "../common/client-state.ts";
import type { HeadgateErrorCode } from "../common/errors.ts";
import { formatReceived } from "../common/errors.ts";
import { LruMap } from "../common/lru-map.ts";
import { emitWarning } from "../common/operator-log.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { shareKeyCache } from "../policy/per-call-policy.ts";

/** The most shapes of per-call policies in use at a time, for one limiter. */
export const MAX_SHAPES = 64;

/** Whether the process was warned. */
const warnings = shareInProcess("otherShapes", () => ({ isWarnedOf: false }));

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

/** Warns once in a process. */
function warnOfMany(name: string): void {
  const warned = warnings();
  if (warned.isWarnedOf) return;
  warned.isWarnedOf = true;
  emitWarning(
    "HEADGATE_TOO_MANY_SHAPES" satisfies HeadgateErrorCode,
    `calls of the limiter ${formatReceived(name)} brought limits of more than ${MAX_SHAPES} shapes, each with a counter of its own. If a client can choose them, it can choose a fresh counter: take limits from your own data, and let them differ in numbers rather than in windows: each shape also leaves scripts of 8 to 19 KB in Redis, which servers before Redis 7.4 and Valkey 8.0 keep until they restart or get SCRIPT FLUSH`,
  );
}
