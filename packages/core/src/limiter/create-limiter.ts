import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import type { Charged } from "../charged.ts";
import { NOTHING_CHARGED } from "../charged.ts";
import type { Cost } from "../cost.ts";
import type { Decision } from "../decision.ts";
import { formatKind, formatNumber, formatReceived, HeadgateError } from "../errors.ts";
import { rejectCloseOptions, rejectMore, rejectUnknownOptions } from "../options.ts";
import type { Limit, LimitDescription, Policy } from "../policy.ts";
import { unitsAt } from "../store/counter.ts";
import type { DecideMode } from "../store/decide-call.ts";
import { isCharging } from "../store/decide-call.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { parseDuration, toMilliseconds } from "../time.ts";
import { CalledLimits } from "./called-limits.ts";
import { followControl } from "./control/follow-control.ts";
import {
  askedOf,
  largestCost,
  requireCost,
  requireFormOf,
  requireUnits,
  requireUnitsByName,
  withCosts,
} from "./costs.ts";
import { placesOf } from "./counted-decision.ts";
import type { CountedPolicy, Group } from "./counted-policy.ts";
import { compileCountedPolicy, joinCountedPolicies, limitsOfUnits } from "./counted-policy.ts";
import type { SubjectCounter, Subjects } from "./counters.ts";
import { countersOf, namedCountersOf, unitsOnly } from "./counters.ts";
import { formatPolicy } from "./format-policy.ts";
import type {
  ConsumeOptions,
  CostOptions,
  Limiter,
  LimiterOptions,
  WaitForOptions,
} from "./limiter.ts";
import { LIMITER, partsOf } from "./limiter.ts";
import { createWaitQueue } from "./line/wait-queue.ts";
import { createMemoryDecider } from "./memory-decider.ts";
import type { NameClaim } from "./names.ts";
import { claimName, requireName } from "./names.ts";
import { withNumbers } from "./numbers-in-force.ts";
import { FAILURE_OPTIONS, readFailureOptions } from "./outage/failure-options.ts";
import type { FailurePolicy } from "./outage/outage.ts";
import { createOverrides } from "./overrides/limiter-overrides.ts";
import { releasesOf } from "./places/keep-places.ts";
import { runAdmitted } from "./places/run-admitted.ts";
import { areDecisionsHeard, publishDecision, subjectsIn } from "./published-decision.ts";
import { createRemoteDecider } from "./remote-decider.ts";

const OPTIONS = [
  "name",
  "limits",
  "store",
  "extends",
  "maxQueue",
  "shadow",
  ...FAILURE_OPTIONS,
] as const;

/**
 * Makes a limiter. The same name on the same store with the same policy is the same limiter.
 * Throws `HEADGATE_INVALID_LIMIT`, `HEADGATE_INVALID_OPTION`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createLimiter<const Per extends string = never>(
  options: LimiterOptions<Per>,
): Limiter<Per | "default"> {
  rejectUnknownOptions("createLimiter", options, OPTIONS);
  const { extends: parent, maxQueue = 1_000, shadow = false } = options;
  if (!Number.isSafeInteger(maxQueue) || maxQueue < 1) {
    throw invalidOption("maxQueue must be a whole number of at least 1", maxQueue);
  }
  if (typeof shadow !== "boolean") throw invalidOption("shadow must be true or false", shadow);
  if (parent !== undefined && partsOf(parent).parent !== undefined) {
    throw invalidKind("extends takes a limiter that extends none itself", parent);
  }
  if (parent !== undefined && partsOf(parent).isClosed()) throw isClosed(parent.name);
  const failure = readFailureOptions(options);
  const { name, store } = placeOf(options);
  const own = compileCountedPolicy(name, options.limits as Policy, store, shadow);
  const join = (policy: CountedPolicy): CountedPolicy =>
    parent === undefined ? policy : joinCountedPolicies(partsOf(parent).counted, policy);
  const counted = join(own);
  if (failure.lease !== undefined) {
    rejectPlaces(counted);
    rejectSeveralCounters(counted);
    rejectBlocks(counted);
  }
  const written = formatPolicy(own.limits.map(({ source }) => source));
  const claim = claimName(store, name, { canonical: own.canonical, written });
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
  const queue = createWaitQueue(maxQueue, giveAllBack);
  const control = followControl(counted, decider.watch, queue);
  const overrides = control && createOverrides(control, counted, decider);
  const releases = counted.hasPlaces ? releasesOf(counted.store.owner) : undefined;
  /** Those that are charged, and settled. */
  const chargeable = limitsOfUnits(counted);
  let called: CalledLimits | undefined;
  let closed = false;

  function requireOpen(): void {
    if (closed) throw isClosed(name);
  }

  function giveAllBack(decision: Decision): Promise<unknown> {
    return Promise.all([
      decider.giveBack(decision),
      placesOf(decision, counted)
        ?.release()
        .catch(() => false),
    ]);
  }

  /** Rejects, and never throws. */
  function decide(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
    groups?: readonly Group[],
  ): Promise<Decision> {
    const refreshed = overrides?.refresh();
    return refreshed === undefined
      ? decideNow(subject, options, mode, groups)
      : refreshed.then(() => decideNow(subject, options, mode, groups));
  }

  function decideNow(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
    groups: readonly Group[] | undefined,
  ): Promise<Decision> {
    try {
      let cost: Cost = 1;
      if (options !== undefined) {
        rejectUnknownOptions("consume and peek", options, ["cost", "limits"]);
        cost = readCost(options.cost, mode === "peek" ? 0 : 1);
      }
      requireOpen();
      if (options?.limits !== undefined) {
        return ask(countersUnder(options.limits, subject, groups), cost, mode);
      }
      const isKnowable = isCharging(mode) && typeof cost === "number";
      const known = isKnowable ? decider.admitKnown?.(subject, cost as number) : undefined;
      if (known !== undefined) return Promise.resolve(known);
      return ask(countersOf(counted, subject, groups), cost, mode);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  function ask(
    counters: readonly SubjectCounter[],
    cost: Cost,
    mode: DecideMode,
  ): Promise<Decision> {
    const inForce = overrides === undefined ? counters : overrides.apply(counters);
    // In shadow, nobody is blocked.
    const asked = mode === "enforce" && areInShadow(inForce) ? "charge" : mode;
    if (typeof cost === "number") return decider.decide(inForce, cost, asked);
    const named = withCosts(inForce, cost);
    return decider.decide(named, largestCost(named), asked);
  }

  function areInShadow([first]: readonly SubjectCounter[]): boolean {
    return first?.terms?.shadow ?? counted.shadow;
  }

  /** A cost of at least `least`, or by name. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`. */
  function readCost(cost: Cost = 1, least = 1, limits = counted.limits): Cost {
    return withoutLease(requireCost("cost", cost, least, limits));
  }

  /** Units of a decision that is settled. Throws as `readCost`. */
  function readUnits(units: Cost): Cost {
    return withoutLease(
      typeof units === "object" && units !== null
        ? requireUnitsByName("units", units, chargeable)
        : requireUnits("units", units, 0),
    );
  }

  function withoutLease(units: Cost): Cost {
    if (typeof units !== "number" && failure.lease !== undefined) throw leasesByName();
    return units;
  }

  /** The counters that a call asks under limits of its own. Throws `HEADGATE_INVALID_LIMIT`, and as `countersOf`. */
  function countersUnder(
    limits: Policy,
    subject: Subjects,
    groups: readonly Group[] | undefined,
  ): SubjectCounter[] {
    if (failure.lease !== undefined) throw leasesUnits();
    called ??= new CalledLimits(underLimits);
    const inForce = called.of(limits);
    const asked = groups?.map((group) => inForce.groups[counted.groups.indexOf(group)] as Group);
    return countersOf(inForce, subject, asked);
  }

  function publishTaken(subject: Subjects, decision: Decision, durationMs: number): void {
    const counts = subjectsIn({ groups: counted.groups, subjects: subject });
    publishDecision({ limiter: name, route: undefined, subject: counts, decision, durationMs });
  }

  async function consumeHeard(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
  ): Promise<Decision> {
    const started = performance.now();
    const decision = await decide(subject, options, mode);
    publishTaken(subject, decision, performance.now() - started);
    return decision;
  }

  function consumeAs(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision> {
    return areDecisionsHeard()
      ? consumeHeard(subject, options, mode)
      : decide(subject, options, mode);
  }

  /** Nothing is charged where only places are counted. */
  async function chargeAll(
    counters: readonly SubjectCounter[],
    cost: number,
  ): Promise<Charged<Cost>> {
    return counters.length === 0 ? NOTHING_CHARGED : decider.charge(counters, cost);
  }

  async function wait(subject: Subjects, options: WaitForOptions = {}): Promise<Decision> {
    requireOpen();
    rejectUnknownOptions("wait", options, ["cost", "timeout", "signal"]);
    const given = readCost(options.cost);
    const named = countersOf(counted, subject);
    const counters = typeof given === "number" ? named : withCosts(named, given);
    const cost = typeof given === "number" ? given : largestCost(counters);
    const { signal } = options;
    requireSignal(signal);
    // What is in force may have to be asked for. That is part of the wait, and its timeout.
    const isKnown = overrides?.refresh() === undefined;
    const inForce = overrides?.apply(counters) ?? counters;
    const isInShadow = isKnown && areInShadow(inForce);
    if (isKnown && !isInShadow) rejectImpossible(inForce, cost);
    const timeoutMs =
      options.timeout === undefined
        ? undefined
        : toMilliseconds(
            parseDuration(options.timeout, "timeout", "HEADGATE_INVALID_OPTION", formatNumber),
          );
    if (isInShadow) {
      signal?.throwIfAborted();
      return consumeAs("charge", subject, { cost: given });
    }
    const last: { durationMs: number | undefined } = { durationMs: undefined };
    let asked = inForce;
    const ask = async () => {
      const started = areDecisionsHeard() ? performance.now() : undefined;
      if (overrides !== undefined) {
        asked = await overrides.applyRefreshed(counters);
        if (!areInShadow(asked)) rejectImpossible(asked, cost);
      }
      requireOpen();
      const answer = await decider.decide(asked, cost, "charge");
      last.durationMs = started && performance.now() - started;
      return answer;
    };
    const keys = counters.map(({ key }) => key);
    const onFreed = releases && ((wake: () => void) => releases.on(keys, wake));
    const onChange = overrides && ((wake: () => void) => overrides.onChange(counters, asked, wake));
    const waiting = { timeoutMs, signal, onFreed, onChange };
    const decision = await queue.enter(keys.join(" "), ask, waiting);
    // Of all attempts, the one that admitted is the caller's answer.
    if (last.durationMs !== undefined) publishTaken(subject, decision, last.durationMs);
    return decision;
  }

  /** Asks once, without waiting, and blocks nobody. Rejects with `HEADGATE_DENIED`. */
  async function admitNow(
    subject: Subjects,
    { cost, signal }: Omit<WaitForOptions, "timeout">,
  ): Promise<Decision> {
    requireSignal(signal);
    signal?.throwIfAborted();
    const decision = await consumeAs("charge", subject, { cost });
    if (decision.allowed) return decision;
    throw new HeadgateError("HEADGATE_DENIED", "denied, and told not to wait", { cause: decision });
  }

  return {
    name,
    limits: counted.limits.map((limit) => describeLimit(limit, counted.store)),
    [LIMITER]: {
      counted,
      parent,
      consumeIn: (groups, subject, options) => decide(subject, options, "enforce", groups),
      watch: decider.watch,
      hasLease: failure.lease !== undefined,
      isInShadow: async () => (await overrides?.shadow()) ?? counted.shadow,
      isClosed: () => closed,
    },

    consume: (subject, options) => consumeAs("enforce", subject, options),
    peek: (subject, options) => decide(subject, options, "peek"),

    async refund(decision, more?: unknown) {
      requireOpen();
      rejectMore("refund(decision)", more);
      return decider.giveBack(decision);
    },

    async charge<Units extends Cost = number>(subject: Subjects, options: CostOptions<Units> = {}) {
      requireOpen();
      rejectUnknownOptions("charge", options, ["cost"]);
      const cost = readCost(options.cost, 1, chargeable);
      const named = unitsOnly(countersOf(counted, subject));
      const counters = overrides === undefined ? named : await overrides.applyRefreshed(named);
      if (typeof cost === "number") return (await chargeAll(counters, cost)) as Charged<Units>;
      const asked = askedOf(withCosts(counters, cost));
      return (await decider.charge(asked, largestCost(asked))) as Charged<Units>;
    },

    async settle<Units extends Cost>(decision: Decision, units: Units, more?: unknown) {
      requireOpen();
      rejectMore("settle(decision, units)", more);
      const wanted = readUnits(units);
      requireFormOf(decision, wanted);
      return (await decider.settle(decision, wanted)) as Charged<Units>;
    },

    async reset(subject, more?: unknown) {
      requireOpen();
      rejectMore("reset(subject)", more);
      const counters = unitsOnly(namedCountersOf(counted, subject));
      return counters.length > 0 && decider.forget(counters);
    },

    async block(subject, duration, more?: unknown) {
      requireOpen();
      rejectMore("block(subject, duration)", more);
      const span = parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber);
      await decider.block(namedCountersOf(counted, subject), span);
    },

    async unblock(subject, more?: unknown) {
      requireOpen();
      rejectMore("unblock(subject)", more);
      return decider.block(namedCountersOf(counted, subject), 0);
    },

    async release(decision, more?: unknown) {
      rejectMore("release(decision)", more);
      return placesOf(decision, counted)?.release() ?? false;
    },

    async run(subject, work, options = {}, more?: unknown) {
      rejectUnknownOptions("run", options, ["cost", "timeout", "signal"]);
      rejectMore("run(subject, work, options)", more);
      if (typeof work !== "function") throw invalidKind("run takes a function to run", work);
      const { timeout, ...waiting } = options;
      const decision =
        timeout === 0
          ? await admitNow(subject, waiting)
          : await wait(subject, { ...waiting, timeout });
      return runAdmitted(decision, placesOf(decision, counted), options.signal, work);
    },

    wait,

    async close(...given: unknown[]) {
      rejectCloseOptions(given);
      if (closed) return;
      closed = true;
      claim.release();
      control?.stop();
      const closing = decider.close();
      queue.close(isClosed(name));
      await closing;
    },
  };
}

/** The name and the store of a limiter's counters. */
function placeOf({ name, store, extends: parent }: LimiterOptions): { name: string; store: Store } {
  if (store !== undefined) requireStore(store);
  const place = store ?? (parent === undefined ? undefined : partsOf(parent).counted.store);
  // Counters that nobody else can reach need no name to be told apart by.
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

function requireSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw invalidOption("signal must be an AbortSignal", signal);
}

function rejectImpossible(counters: readonly SubjectCounter[], cost: number): void {
  for (const counter of counters) {
    for (const [i, { name, limit }] of counter.limits.entries()) {
      const units = unitsAt(counter, i, cost);
      if (units <= limit) continue;
      throw new HeadgateError(
        "HEADGATE_COST_ABOVE_LIMIT",
        `a cost of ${units} can never pass the limit ${formatReceived(name)}, which grants ${limit} at most`,
      );
    }
  }
}

/** A place is held by one request, and cannot be taken ahead. */
function rejectPlaces({ hasPlaces }: CountedPolicy): void {
  if (!hasPlaces) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "lease takes units ahead, and a concurrency limit has none: leave one of them out",
  );
}

/** Units that are taken ahead of one subject say nothing of what another one, of the same request, allows. */
function rejectSeveralCounters({ groups }: CountedPolicy): void {
  if (groups.length === 1) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `lease is for limits of one dimension in a limiter that extends none; these count by ${groups.map(({ dimension }) => dimension).join(", ")}`,
  );
}

/** Units that were taken ahead would be spent by who is blocked. */
function rejectBlocks({ limits }: CountedPolicy): void {
  const blocking = limits.find(({ block }) => block !== undefined);
  if (blocking === undefined) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `lease takes units ahead, which a block would come too late for; the limit ${formatReceived(blocking.name)} has block`,
  );
}

/** Of units that are taken ahead each is one of every limit. */
function leasesByName(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "units by name are not for a limiter with lease, whose units are of all limits alike",
  );
}

/** Units that were taken ahead under some numbers say nothing of what others allow. */
function leasesUnits(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "limits of a call are not for a limiter with lease, which takes units ahead under its own",
  );
}

function invalidOption(rule: string, received: unknown): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatReceived(received)}`);
}

/** For values that may hold what nobody should read in a message. */
function invalidKind(rule: string, received: unknown): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatKind(received)}`);
}

function isClosed(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the limiter ${formatReceived(name)} has been closed`,
  );
}
