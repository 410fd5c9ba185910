import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import { shareInProcess } from "../common/client-state.ts";
import { codeOf, formatReceived, HeadgateError } from "../common/errors.ts";
import { rejectCloseOptions } from "../common/options.ts";
import type { LimitDescription } from "../common/policy.ts";
import { yieldToEventLoop } from "../common/yield-to-event-loop.ts";
import { createRequestsInFlight, InFlight } from "../pipeline/in-flight.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { NameClaim } from "../policy/names.ts";
import type { WaiterGroup } from "../queue/queue.ts";
import type { CountingStore } from "../store/store.ts";
import { createBlockMethods } from "./block.ts";
import { createChargeMethods } from "./charge.ts";
import type { ConsumeMethods } from "./consume.ts";
import { createConsumeMethods } from "./consume.ts";
import type { FailurePolicy } from "./failure-options.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore, LimiterInternals, LimiterWithInternals } from "./limiter-internals.ts";
import { LIMITER } from "./limiter-internals.ts";
import type { MeterMethods } from "./meter.ts";
import { createMeterMethods } from "./meter.ts";
import type { PolicyCompiler } from "./per-call-policies.ts";
import { PerCallPolicies } from "./per-call-policies.ts";
import { backendOf, openInMemory } from "./store-backend.ts";
import type { LimiterQueue } from "./wait.ts";
import { createLimiterQueue, createWaitMethods } from "./wait.ts";

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

/** Opens a handle of a limiter. Each is closed separately, and the limiter ends with the last one. */
export function openHandle(
  instance: LimiterInstance,
  parent: Limiter | undefined,
): LimiterWithInternals {
  const { core, limits, consumeMethods, chargeMethods, blockMethods, limiterQueue } = instance;
  const { name, policy, control, inFlight } = core;
  const { consume, peek, consumeGroups } = consumeMethods;
  const waiterGroup: WaiterGroup = { closeError: undefined };
  const { wait, run, consumeOrWait } = createWaitMethods(
    core,
    consumeMethods,
    limiterQueue,
    waiterGroup,
  );
  const internals: { isClosed: boolean } & LimiterInternals = {
    ...core,
    parent,
    consumeGroups,
    consumeOrWait,
    chargeMethods,
    isInShadow: async () => (await control?.isInShadow()) ?? policy.shadow,
    isClosed: false,
  };
  instance.handles += 1;
  let meterMethods: MeterMethods | undefined;

  /** A method that rejects once this handle is closed, and that can be awaited in a loop. */
  function rejectWhenClosed<Args extends unknown[], Result>(
    method: LimiterFunction<Args, Result>,
  ): LimiterFunction<Args, Result> {
    return (...args) =>
      yieldToEventLoop(internals.isClosed ? Promise.reject(closedError(name)) : method(...args));
  }

  /** The same for a method that `close` waits for. */
  function track<Args extends unknown[], Result>(
    method: LimiterFunction<Args, Result>,
  ): LimiterFunction<Args, Result> {
    return rejectWhenClosed((...args) => inFlight.track(method(...args)));
  }

  async function close(...given: unknown[]): Promise<void> {
    rejectCloseOptions(given);
    if (internals.isClosed) return;
    internals.isClosed = true;
    instance.handles -= 1;
    const isLast = instance.handles === 0;
    limiterQueue.queue.close(closedError(name), waiterGroup);
    meterMethods?.close(closedError(name));
    await (isLast ? instance.end() : instance.allDone());
  }

  return {
    name,
    limits,
    [LIMITER]: internals,
    consume: rejectWhenClosed(consume),
    peek: rejectWhenClosed(peek),
    charge: track(chargeMethods.charge) as Limiter["charge"],
    settle: track(chargeMethods.settle) as Limiter["settle"],
    refund: track(chargeMethods.refund),
    release: (...args) => yieldToEventLoop(chargeMethods.release(...args)),
    reset: track(blockMethods.reset),
    block: track(blockMethods.block),
    unblock: track(blockMethods.unblock),
    wait: rejectWhenClosed(wait),
    run: rejectWhenClosed(run) as Limiter["run"],
    meter: rejectWhenClosed((...args) => {
      meterMethods ??= createMeterMethods(core, consumeMethods, chargeMethods);
      return meterMethods.meter(...args);
    }),
    ready: track(async () => backendOf(policy.store)?.warmUp(core) ?? true),
    close,
  };
}

/** The error of a closed limiter. */
export function closedError(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the limiter ${formatReceived(name)} has been closed`,
  );
}

/** Creates a limiter without a handle. */
export function createLimiterInstance(
  policy: CompiledPolicy,
  { name, maxQueue, claim, failure, isShared, uncache, compiler }: InstanceOptions,
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
    uncache(instance);
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
  const instance: LimiterInstance = {
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
  return instance;
}

interface InstanceOptions {
  readonly name: string;
  readonly maxQueue: number;
  readonly claim: NameClaim;
  /** Whether another limiter can use its store. False if the store was created for this limiter. */
  readonly isShared: boolean;
  /** Called when the last handle is closed. */
  readonly uncache: (instance: LimiterInstance) => void;
  readonly failure: FailurePolicy;
  readonly compiler: PolicyCompiler;
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

type LimiterFunction<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/** Something that `hotReload` can close: a limiter, middleware or a breaker. `close` frees its name at once. */
interface Closable {
  close(): Promise<unknown>;
}

/**
 * For development with hot reload, where a module is evaluated again after each change while the Redis client stays. Creates a
 * limiter, middleware or a breaker. If its name is taken with another policy, closes what earlier evaluations created under
 * `key`, and creates it again. With the same policy nothing is closed.
 *
 * Only with `NODE_ENV=development`. Otherwise it just calls `create`, so that using a name twice is still a
 * `HEADGATE_DUPLICATE_NAME`.
 */
export function hotReload<T extends Closable>(key: string, create: () => T): T {
  if (process.env["NODE_ENV"] !== "development") return create();
  const earlier = createdUnder(key);
  const created = createInsteadOf(earlier, create);
  earlier.add(created);
  return created;
}

function createInsteadOf<T extends Closable>(earlier: Set<Closable>, create: () => T): T {
  try {
    return create();
  } catch (error) {
    if (codeOf(error) !== "HEADGATE_DUPLICATE_NAME") throw error;
    // Frameworks may evaluate a module once for each bundle.
    for (const one of earlier) one.close().catch(() => {});
    earlier.clear();
    return create();
  }
}

const createdByKey = shareInProcess("hotReload", () => new Map<string, Set<Closable>>());

function createdUnder(key: string): Set<Closable> {
  const all = createdByKey();
  const known = all.get(key) ?? new Set();
  all.set(key, known);
  return known;
}
