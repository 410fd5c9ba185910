import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import type { LimitDescription } from "../common/policy.ts";
import { createRequestsInFlight, InFlight } from "../pipeline/in-flight.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { NameClaim } from "../policy/names.ts";
import type { CountingStore } from "../store/store.ts";
import { createBlockMethods } from "./block.ts";
import { createChargeMethods } from "./charge.ts";
import type { ConsumeMethods } from "./consume.ts";
import { createConsumeMethods } from "./consume.ts";
import type { FailurePolicy } from "./failure-policy.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import type { LimiterQueue } from "./limiter-queue.ts";
import { createLimiterQueue } from "./limiter-queue.ts";
import { PerCallPolicies } from "./per-call-policies.ts";
import type { PolicyCompiler } from "./policy-cache.ts";
import { backendOf, openInMemory } from "./store-backend.ts";

/** The checked options of a limiter. */
export interface InstanceOptions {
  readonly name: string;
  readonly maxQueue: number;
  readonly claim: NameClaim;
  /** Whether another limiter can use its store. False if the store was created for this limiter. */
  readonly isShared: boolean;
  readonly failure: FailurePolicy;
  readonly compiler: PolicyCompiler;
}

/**
 * The shared part of a limiter that was created repeatedly with equal options. Each `createLimiter` adds a handle of a few
 * hundred bytes.
 */
export interface LimiterInstance {
  readonly core: LimiterCore;
  readonly limits: readonly LimitDescription[];
  readonly consumeMethods: ConsumeMethods;
  readonly chargeMethods: Pick<Limiter, "charge" | "settle" | "refund" | "release">;
  readonly blockMethods: Pick<Limiter, "block" | "unblock" | "reset">;
  readonly limiterQueue: LimiterQueue;
  /** How many handles are open, or were dropped without `close`. */
  handles: number;
  /** Resolves when the requests and calls in progress have ended, or cannot be waited for any longer. */
  allDone(): Promise<void>;
  /** Frees the name, and state shared with other limiters, once the calls in progress have ended. */
  end(): Promise<void>;
}

/** Releases the names of limiters that were dropped without `close`, by the application and by the limiter cache. */
const droppedLimiters = new FinalizationRegistry<DroppedLimiter>(({ name, claim, store: weak }) => {
  const store = weak.deref();
  if (claim.release() && store !== undefined) void unregister(store, name);
});

/** References neither the limiter nor its client, which would then never be collected. */
interface DroppedLimiter {
  readonly name: string;
  readonly claim: NameClaim;
  readonly store: WeakRef<CountingStore>;
}

/** Creates a limiter without a handle. */
export function createLimiterInstance(
  policy: CompiledPolicy,
  { name, maxQueue, claim, failure, isShared, compiler }: InstanceOptions,
): LimiterInstance {
  const { store } = policy;
  const inFlight = new InFlight();
  const requestsInFlight = createRequestsInFlight();
  const backend = backendOf(store);
  const tracker = backend?.trackPerCallPolicies(store, name);
  const perCallPolicies = new PerCallPolicies(name, tracker);
  const parts =
    backend === undefined
      ? openInMemory(policy)
      : backend.open(policy, failure, inFlight, perCallPolicies);
  const hasLease = failure.lease !== undefined;
  const core: LimiterCore = {
    name,
    policy,
    perCallPolicies,
    hasLease,
    inFlight,
    requestsInFlight,
    ...parts,
  };
  const consumeMethods = createConsumeMethods(core, compiler);
  const chargeMethods = createChargeMethods(core, consumeMethods);

  async function allDone(): Promise<void> {
    await requestsInFlight.allDone();
    // A request may have begun a call meanwhile.
    await inFlight.allDone();
  }

  async function end(): Promise<void> {
    droppedLimiters.unregister(core);
    const isLast = claim.release();
    perCallPolicies.close();
    const unregistering = isLast && backend?.unregister(store, name);
    await allDone();
    core.control?.stop();
    const closing = core.pipeline.close();
    // Another limiter may have taken the name meanwhile, and the usage belongs to it then.
    const isFree = isLast && !claim.isClaimed();
    await Promise.all([closing, unregistering, isFree && backend?.flushUsage(store, name)]);
  }

  if (isShared) droppedLimiters.register(core, { name, claim, store: new WeakRef(store) }, core);
  return {
    core,
    limits: policy.limits.map((limit) => describeLimit(limit, store)),
    consumeMethods,
    chargeMethods,
    blockMethods: createBlockMethods(core),
    limiterQueue: createLimiterQueue(core, chargeMethods, maxQueue),
    handles: 0,
    allDone,
    end,
  };
}

async function unregister(store: CountingStore, name: string): Promise<void> {
  const backend = backendOf(store);
  await Promise.all([backend?.unregister(store, name), backend?.flushUsage(store, name)]);
}

function describeLimit(compiled: CompiledLimit, store: CountingStore): LimitDescription {
  const { name, per, limit, windowMs, calendar } = compiled;
  if (calendar === undefined) return { name, per, limit, windowMs };
  return {
    name,
    per,
    limit,
    get windowMs() {
      return windowMsAt(compiled, store.now());
    },
  };
}
