import { formatKind, invalidValue } from "../common/errors.ts";
import { LruMap } from "../common/lru-map.ts";
import { LIMITER_OPTION_HINTS } from "../common/migration-hints.ts";
import { emitWarning, isFirstWarning } from "../common/operator-log.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { formatPolicy, readBlockOn } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { requireLeasable } from "../pipeline/leases/lease-options.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { compileLimiterPolicy, joinPolicies } from "../policy/compiled-policy.ts";
import type { Properties } from "../policy/effective-limits.ts";
import {
  areSameLimits,
  copyLimits,
  isSameValue,
  replaceLimits,
} from "../policy/effective-limits.ts";
import { claimName, requireName } from "../policy/names.ts";
import { compilePerCallPolicy } from "../policy/per-call-policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import type { CheckedDurations } from "./failure-options.ts";
import { FAILURE_OPTIONS, readFailureOptions } from "./failure-options.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import type { LimiterInstance } from "./limiter-instance.ts";
import { closedError, createLimiterInstance, openHandle } from "./limiter-instance.ts";
import type { LimiterWithInternals } from "./limiter-internals.ts";
import { internalsOf } from "./limiter-internals.ts";
import type { PolicyCompiler } from "./per-call-policies.ts";
import { backendOf } from "./store-backend.ts";

/**
 * Creates a limiter. The same name, store and policy return the same limiter. Throws `HEADGATE_INVALID_LIMIT`,
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createLimiter<const Per extends string = never, const Text extends string = string>(
  options: LimiterOptions<Per> & CheckedDurations<Text>,
): Limiter<Per | "default"> {
  return createLimiterForPlugin(options, undefined);
}

/** Creates a limiter for an adapter's plugin, under whose name its decisions are published. Throws like `createLimiter`. */
export function createLimiterForPlugin(
  options: LimiterOptions<string>,
  plugin: string | undefined,
): LimiterWithInternals<string> {
  rejectUnknownOptions("createLimiter", options, OPTIONS, () => LIMITER_OPTION_HINTS);
  const { extends: parent } = options;
  if (parent !== undefined && internalsOf(parent).isClosed) throw closedError(parent.name);
  const { name, store } = readNameAndStore(options);
  const { limits, maxQueue = 1_000, shadow = false, blockOn = "denial" } = options;
  const identity: LimiterIdentity = {
    name,
    store,
    limits: limits as Policy,
    extended: parent && internalsOf(parent).policy,
    options: [plugin, maxQueue, shadow, blockOn, ...FAILURE_OPTIONS.map((name) => options[name])],
  };
  const existing = findLimiter(identity);
  if (existing !== undefined) return openHandle(existing, parent);
  // No other call can use a store that is created here.
  const isShared = options.store !== undefined || parent !== undefined;
  const created = createInstance(options, name, store, plugin, isShared);
  if (isShared) cacheLimiter(created, identity);
  return openHandle(created, parent);
}

const OPTIONS = [
  "name",
  "limits",
  "store",
  "extends",
  "maxQueue",
  "shadow",
  "blockOn",
  ...FAILURE_OPTIONS,
] as const;

/** Validates the options and claims the name. */
function createInstance(
  options: LimiterOptions<string>,
  name: string,
  store: CountingStore,
  plugin: string | undefined,
  isShared: boolean,
): LimiterInstance {
  const { extends: parent, maxQueue = 1_000, shadow = false } = options;
  if (!Number.isSafeInteger(maxQueue) || maxQueue < 1) {
    throw invalidValue("maxQueue must be a whole number of at least 1", maxQueue);
  }
  readBoolean("shadow", shadow);
  const blockOn = readBlockOn(options.blockOn);
  if (parent !== undefined && internalsOf(parent).parent !== undefined) {
    throw invalidValue(
      "extends takes a limiter that does not extend another one",
      parent,
      formatKind,
    );
  }
  const failure = readFailureOptions(options);
  const own = compileLimiterPolicy(name, options.limits as Policy, store, {
    shadow,
    blockOn,
    plugin,
  });
  const join = (one: CompiledPolicy): CompiledPolicy =>
    parent === undefined ? one : joinPolicies(internalsOf(parent).policy, one);
  const joined = join(own);
  if (failure.lease !== undefined) requireLeasable(joined);
  const policyText = formatPolicy(own.limits.map(({ source }) => source));
  const displayText = own.blocksOnSettle ? `${policyText} with blockOn: "settle"` : policyText;
  warnAboutShortDuration(own.limits.map(({ source }) => source));
  const claim = claimName(store, name, { canonical: own.canonical, displayText });
  backendOf(store)?.register(name, own, failure, parent?.name);
  const compiler: PolicyCompiler = {
    compileSameShape: (limits) => replaceLimits(own, limits),
    compileOtherShape: (limits) => compilePerCallPolicy(own, limits, blockOn),
    join,
  };
  return createLimiterInstance(joined, {
    name,
    maxQueue,
    claim,
    failure,
    isShared,
    compiler,
    uncache: (instance) => uncacheLimiter(instance, { name, store }),
  });
}

function readNameAndStore({ name, store, extends: parent }: LimiterOptions): {
  name: string;
  store: CountingStore;
} {
  const given = store === undefined ? undefined : requireStore(store);
  const counterStore =
    given ?? (parent === undefined ? undefined : internalsOf(parent).policy.store);
  // A limiter on a store of its own needs no name.
  const named = name === undefined && counterStore === undefined ? "limiter" : name;
  requireName(named);
  return { name: named, store: counterStore ?? requireStore(memoryStore()) };
}

/** The most names cached for each client; the oldest is dropped first. */
const MAX_NAMES = 1_000;

/** The most limiters cached under one name, which differ in their options. */
const MAX_PER_NAME = 4;

/** The options that identify a limiter: with equal ones, `createLimiter` returns the same limiter. */
interface LimiterIdentity {
  readonly name: string;
  readonly store: CountingStore;
  readonly limits: Policy;
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

function findLimiter(identity: LimiterIdentity): LimiterInstance | undefined {
  const cached = limitersByOwner.get(identity.store.owner)?.get(keyOf(identity));
  return cached?.find((one) => hasIdentity(one, identity))?.instance;
}

/** Caches a limiter, to be returned later for an equal identity. */
function cacheLimiter(instance: LimiterInstance, identity: LimiterIdentity): void {
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

function uncacheLimiter(
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

/** A bare number below this is more likely in seconds, as in other limiters. */
const SHORT_DURATION_MS = 1_000;

const DURATIONS = ["window", "every", "ttl"] as const;

/** Warns once per process about a duration given as a bare number below 1,000, which means milliseconds. */
function warnAboutShortDuration(limits: readonly Limit[]): void {
  for (const limit of limits) {
    const [option, ms] = findShort(limit) ?? [];
    if (option === undefined || !isFirstWarning(process, "HEADGATE_DURATION_WITHOUT_UNIT"))
      continue;
    emitWarning(
      "HEADGATE_DURATION_WITHOUT_UNIT",
      `${limit.algorithm}: ${option}: ${ms} is ${ms} milliseconds. If you mean seconds, write "${ms}s"; if you mean milliseconds, write "${ms}ms", and this warning ends`,
    );
  }
}

function findShort(limit: Limit): readonly [option: string, ms: number] | undefined {
  const values = limit as unknown as Readonly<Record<string, unknown>>;
  for (const option of DURATIONS) {
    const value = values[option];
    if (typeof value === "number" && value < SHORT_DURATION_MS) return [option, value];
  }
  const { block } = values;
  const spans = isPlainObject(block) ? block["for"] : block;
  const blocks = [spans].flat().filter((span) => typeof span === "number");
  const short = blocks.find((ms) => ms < SHORT_DURATION_MS);
  return short === undefined ? undefined : ["block", short];
}
