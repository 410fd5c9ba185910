import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import { rejectCloseOptions, rejectUnknownOptions } from "../options.ts";
import { PEER_LIMITER_OPTIONS } from "../peer-options.ts";
import type { Limit, LimitDescription, Policy } from "../policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { createAsking } from "./asking.ts";
import { createBlocking } from "./blocking.ts";
import { createCharging } from "./charging.ts";
import { followControl } from "./control/follow-control.ts";
import type { CountedPolicy } from "./counted-policy.ts";
import { compileCountedPolicy, joinCountedPolicies } from "./counted-policy.ts";
import { listLimiter } from "./directory/limiter-record.ts";
import { unlist } from "./directory/listings.ts";
import { formatPolicy } from "./format-policy.ts";
import { requireLeasable } from "./leases/require-leasable.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import { LIMITER, partsOf } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import { createMemoryDecider } from "./memory-decider.ts";
import type { NameClaim } from "./names.ts";
import { claimName, requireName } from "./names.ts";
import { withNumbers } from "./numbers-in-force.ts";
import { FAILURE_OPTIONS, readFailureOptions } from "./outage/failure-options.ts";
import type { FailurePolicy } from "./outage/outage.ts";
import { createOverrides } from "./overrides/limiter-overrides.ts";
import { readBlockOn } from "./read-block-on.ts";
import { createRemoteDecider } from "./remote-decider.ts";
import { countUsage, endUsage } from "./usage/usage.ts";
import { createWaiting } from "./waiting.ts";

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
 * Creates a limiter. The same name on the same store with the same policy gives the same limiter.
 * Throws `HEADGATE_INVALID_LIMIT`, `HEADGATE_INVALID_OPTION`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createLimiter<const Per extends string = never>(
  options: LimiterOptions<Per>,
): Limiter<Per | "default"> {
  return makeLimiter(options, undefined);
}

/** The same for a route whose limiter is named after the plugin that limits it. Throws as `createLimiter`. */
export function makeLimiter(
  options: LimiterOptions<string>,
  plugin: string | undefined,
): Limiter<string> {
  rejectUnknownOptions("createLimiter", options, OPTIONS, PEER_LIMITER_OPTIONS);
  const { extends: parent, maxQueue = 1_000, shadow = false } = options;
  if (!Number.isSafeInteger(maxQueue) || maxQueue < 1) {
    throw invalidOption("maxQueue must be a whole number of at least 1", maxQueue);
  }
  if (typeof shadow !== "boolean") throw invalidOption("shadow must be true or false", shadow);
  const blockOn = readBlockOn(options.blockOn);
  if (parent !== undefined && partsOf(parent).parent !== undefined) {
    throw invalidKind("extends takes a limiter that does not extend another one", parent);
  }
  if (parent !== undefined && partsOf(parent).isClosed()) throw isClosed(parent.name);
  const failure = readFailureOptions(options);
  const { name, store } = placeOf(options);
  const own = compileCountedPolicy(name, options.limits as Policy, store, {
    shadow,
    blockOn,
    plugin,
  });
  const join = (one: CountedPolicy): CountedPolicy =>
    parent === undefined ? one : joinCountedPolicies(partsOf(parent).counted, one);
  const counted = join(own);
  if (failure.lease !== undefined) requireLeasable(counted);
  const policy = formatPolicy(own.limits.map(({ source }) => source));
  const written = own.keeps ? `${policy} with blockOn: "settle"` : policy;
  const claim = claimName(store, name, { canonical: own.canonical, written });
  listLimiter(name, own, parent?.name);
  const underLimits = (limits: readonly Limit[]) => join(withNumbers(own, limits));
  return limiterOn(counted, { name, maxQueue, claim, failure, underLimits }, parent);
}

interface Settings {
  readonly name: string;
  readonly maxQueue: number;
  readonly claim: NameClaim;
  readonly failure: FailurePolicy;
  /** All that is counted, with other numbers for the limiter's own limits. Throws `HEADGATE_INVALID_LIMIT`. */
  readonly underLimits: (limits: readonly Limit[]) => CountedPolicy;
}

function limiterOn(
  counted: CountedPolicy,
  { name, maxQueue, claim, failure, underLimits }: Settings,
  parent: Limiter | undefined,
): Limiter {
  const { remote } = counted.store;
  const decider =
    remote === undefined
      ? createMemoryDecider(counted)
      : createRemoteDecider(name, counted, remote, failure);
  const control = followControl(counted, decider.watch);
  const overrides = control && createOverrides(control, counted, decider);
  const hasLease = failure.lease !== undefined;
  const usage = countUsage(counted.store, name);
  let closed = false;
  const core: LimiterCore = {
    name,
    counted,
    decider,
    control,
    overrides,
    usage,
    hasLease,
    requireOpen() {
      if (closed) throw isClosed(name);
    },
  };
  const asking = createAsking(core, underLimits);
  const { consume, peek, consumeIn } = asking;
  const { wait, run, consumeInTurn, endWaits } = createWaiting(core, asking, maxQueue);
  const { charge, settle, refund, release } = createCharging(core);
  const { block, unblock, reset } = createBlocking(core);

  async function close(...given: unknown[]): Promise<void> {
    rejectCloseOptions(given);
    if (closed) return;
    closed = true;
    const isLast = claim.release();
    const leaving = isLast && unlist(counted.store, "limiter", name);
    control?.stop();
    const closing = decider.close();
    endWaits(isClosed(name));
    await Promise.all([closing, leaving, isLast && endUsage(counted.store, name)]);
  }

  return {
    name,
    limits: counted.limits.map((limit) => describeLimit(limit, counted.store)),
    [LIMITER]: {
      counted,
      parent,
      consumeIn,
      consumeInTurn,
      watch: decider.watch,
      usage,
      hasLease,
      isInShadow: async () => (await overrides?.shadow()) ?? counted.shadow,
      isClosed: () => closed,
    },
    consume,
    peek,
    charge,
    settle,
    refund,
    release,
    reset,
    block,
    unblock,
    wait,
    run,
    close,
  };
}

/** The name and the store of a limiter's counters. */
function placeOf({ name, store, extends: parent }: LimiterOptions): { name: string; store: Store } {
  if (store !== undefined) requireStore(store);
  const place = store ?? (parent === undefined ? undefined : partsOf(parent).counted.store);
  // Counters that nothing else can reach need no name.
  const named = name === undefined && place === undefined ? "limiter" : name;
  requireName(named);
  return { name: named, store: place ?? memoryStore() };
}

function describeLimit(compiled: CompiledLimit, store: Store): LimitDescription {
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

function invalidOption(rule: string, received: unknown): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatReceived(received)}`);
}

/** For values that may hold secrets, which a message must not show. */
function invalidKind(rule: string, received: unknown): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatKind(received)}`);
}

function isClosed(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the limiter ${formatReceived(name)} has been closed`,
  );
}
