import { formatKind, invalidValue } from "../common/errors.ts";
import { LIMITER_OPTION_HINTS } from "../common/migration-hints.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Policy } from "../common/policy.ts";
import { formatPolicy, readBlockOn } from "../common/policy.ts";
import { requireLeasable } from "../pipeline/leases/require-leasable.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { compileLimiterPolicy, joinPolicies } from "../policy/compiled-policy.ts";
import { replaceLimits } from "../policy/effective-limits.ts";
import { claimName, requireName } from "../policy/names.ts";
import { compilePerCallPolicy } from "../policy/per-call-policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { FAILURE_OPTIONS, failureOptionsOf, readFailureOptions } from "./failure-options.ts";
import type { CheckedDurations } from "./failure-policy.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import type { LimiterIdentity } from "./limiter-cache.ts";
import { cacheLimiter, findLimiter } from "./limiter-cache.ts";
import { closedError, openHandle } from "./limiter-handle.ts";
import type { LimiterInstance } from "./limiter-instance.ts";
import { createLimiterInstance } from "./limiter-instance.ts";
import type { LimiterWithInternals } from "./limiter-internals.ts";
import { internalsOf } from "./limiter-internals.ts";
import type { PolicyCompiler } from "./policy-cache.ts";
import { warnAboutShortDuration } from "./short-durations.ts";
import { backendOf } from "./store-backend.ts";

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
    options: [plugin, maxQueue, shadow, blockOn, ...Object.values(failureOptionsOf(options))],
  };
  const existing = findLimiter(identity);
  if (existing !== undefined) return openHandle(existing, parent);
  // No other call can use a store that is created here.
  const isShared = options.store !== undefined || parent !== undefined;
  const created = createInstance(options, { name, store, plugin, isShared });
  if (isShared) cacheLimiter(created, identity);
  return openHandle(created, parent);
}

interface ResolvedOptions {
  readonly name: string;
  readonly store: CountingStore;
  readonly plugin: string | undefined;
  readonly isShared: boolean;
}

/** Validates the options and claims the name. */
function createInstance(
  options: LimiterOptions<string>,
  { name, store, plugin, isShared }: ResolvedOptions,
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
  backendOf(store)?.register(name, own, parent?.name);
  const compiler: PolicyCompiler = {
    compileSameShape: (limits) => replaceLimits(own, limits),
    compileOtherShape: (limits) => compilePerCallPolicy(own, limits, blockOn),
    join,
  };
  return createLimiterInstance(joined, { name, maxQueue, claim, failure, isShared, compiler });
}

/** The name and the store of a limiter's counters. */
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
