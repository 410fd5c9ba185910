import { formatKind, invalidValue } from "../common/errors.ts";
import { formatPolicy } from "../common/format-policy.ts";
import { LIMITER_OPTION_HINTS } from "../common/migration-hints.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Policy } from "../common/policy.ts";
import { requireLeasable } from "../pipeline/leases/require-leasable.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { compileLimiterPolicy, joinPolicies } from "../policy/compiled-policy.ts";
import { replaceLimits } from "../policy/effective-limits.ts";
import { claimName, requireName } from "../policy/names.ts";
import { compilePerCallPolicy } from "../policy/per-call-policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import type { PolicyCompiler } from "./called-limits.ts";
import { FAILURE_OPTIONS, failureOptionsOf, readFailureOptions } from "./failure-options.ts";
import type { CheckedTimes } from "./failure-policy.ts";
import type { LimiterTerms } from "./kept-limiters.ts";
import { findLimiter, keepLimiter } from "./kept-limiters.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import type { LimiterInstance } from "./limiter-instance.ts";
import { makeShared } from "./limiter-instance.ts";
import type { MadeLimiter } from "./limiter-parts.ts";
import { partsOf } from "./limiter-parts.ts";
import { closedError, openLimiter } from "./open-limiter.ts";
import { readBlockOn } from "./read-block-on.ts";
import { warnOfShortDuration } from "./short-durations.ts";
import { serverSideOf } from "./store-backend.ts";

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
  options: LimiterOptions<Per> & CheckedTimes<Text>,
): Limiter<Per | "default"> {
  return makeLimiter(options, undefined);
}

/** The same for a route whose limiter is named after the plugin that limits it. Throws like `createLimiter`. */
export function makeLimiter(
  options: LimiterOptions<string>,
  plugin: string | undefined,
): MadeLimiter<string> {
  rejectUnknownOptions("createLimiter", options, OPTIONS, () => LIMITER_OPTION_HINTS);
  const { extends: parent } = options;
  if (parent !== undefined && partsOf(parent).isClosed) throw closedError(parent.name);
  const { name, store } = placeOf(options);
  const { limits, maxQueue = 1_000, shadow = false, blockOn = "denial" } = options;
  const terms: LimiterTerms = {
    name,
    store,
    limits: limits as Policy,
    extended: parent && partsOf(parent).counted,
    options: [plugin, maxQueue, shadow, blockOn, ...Object.values(failureOptionsOf(options))],
  };
  const known = findLimiter(terms);
  if (known !== undefined) return openLimiter(known, parent);
  // No other call can name a store that was created for this one.
  const isShared = options.store !== undefined || parent !== undefined;
  const made = make(options, { name, store, plugin, isShared });
  if (isShared) keepLimiter(made, terms);
  return openLimiter(made, parent);
}

interface CreatedAt {
  readonly name: string;
  readonly store: CountingStore;
  readonly plugin: string | undefined;
  readonly isShared: boolean;
}

/** Validates the options and claims the name. */
function make(
  options: LimiterOptions<string>,
  { name, store, plugin, isShared }: CreatedAt,
): LimiterInstance {
  const { extends: parent, maxQueue = 1_000, shadow = false } = options;
  if (!Number.isSafeInteger(maxQueue) || maxQueue < 1) {
    throw invalidValue("maxQueue must be a whole number of at least 1", maxQueue);
  }
  readBoolean("shadow", shadow);
  const blockOn = readBlockOn(options.blockOn);
  if (parent !== undefined && partsOf(parent).parent !== undefined) {
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
    parent === undefined ? one : joinPolicies(partsOf(parent).counted, one);
  const counted = join(own);
  if (failure.lease !== undefined) requireLeasable(counted);
  const policy = formatPolicy(own.limits.map(({ source }) => source));
  const displayText = own.blocksOnSettle ? `${policy} with blockOn: "settle"` : policy;
  warnOfShortDuration(own.limits.map(({ source }) => source));
  const claim = claimName(store, name, { canonical: own.canonical, displayText });
  serverSideOf(store)?.list(name, own, parent?.name);
  const compiler: PolicyCompiler = {
    ofSameShape: (limits) => replaceLimits(own, limits),
    ofOtherShape: (limits) => compilePerCallPolicy(own, limits, blockOn),
    join,
  };
  return makeShared(counted, { name, maxQueue, claim, failure, isShared, compiler });
}

/** The name and the store of a limiter's counters. */
function placeOf({ name, store, extends: parent }: LimiterOptions): {
  name: string;
  store: CountingStore;
} {
  const given = store === undefined ? undefined : requireStore(store);
  const place = given ?? (parent === undefined ? undefined : partsOf(parent).counted.store);
  // Counters that nothing else can reach need no name.
  const named = name === undefined && place === undefined ? "limiter" : name;
  requireName(named);
  return { name: named, store: place ?? requireStore(memoryStore()) };
}
