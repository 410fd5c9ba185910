import type { Decision } from "../decision.ts";
import { formatKind, formatNumber, formatReceived, HeadgateError } from "../errors.ts";
import { rejectCloseOptions, rejectMore, rejectUnknownOptions } from "../options.ts";
import type { Limit, LimitDescription, Policy } from "../policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { parseDuration, toMilliseconds } from "../time.ts";
import { CalledLimits } from "./called-limits.ts";
import type { CountedPolicy, Group } from "./counted-policy.ts";
import { compileCountedPolicy, joinCountedPolicies } from "./counted-policy.ts";
import type { SubjectCounter, Subjects } from "./counters.ts";
import { countersOf, namedCountersOf } from "./counters.ts";
import { formatPolicy } from "./format-policy.ts";
import type { ConsumeOptions, CostOptions, Limiter, LimiterOptions } from "./limiter.ts";
import { LIMITER, partsOf } from "./limiter.ts";
import { agedDenial } from "./line/aged-denial.ts";
import type { Denial, Turn, TurnOptions } from "./line/line.ts";
import { takeTurn } from "./line/take-turn.ts";
import { createWaitQueue } from "./line/wait-queue.ts";
import { createMemoryDecider } from "./memory-decider.ts";
import type { NameClaim } from "./names.ts";
import { claimName, requireName } from "./names.ts";
import { withNumbers } from "./numbers-in-force.ts";
import { FAILURE_OPTIONS, readFailureOptions } from "./outage/failure-options.ts";
import type { FailurePolicy } from "./outage/outage.ts";
import { areDecisionsHeard, publishDecision, subjectsIn } from "./published-decision.ts";
import { createRemoteDecider } from "./remote-decider.ts";

/** So many calls of HTTP wait for one subject at most, and no more than half of `maxQueue`: nobody keeps all others out. */
const MAX_LINE = 100;

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
  if (failure.lease !== undefined) rejectSeveralCounters(counted);
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
  const queue = createWaitQueue(maxQueue, decider.giveBack, counted.store.now);
  const maxLine = Math.min(MAX_LINE, Math.ceil(maxQueue / 2));
  let called: CalledLimits | undefined;
  let closed = false;

  function requireOpen(): void {
    if (closed) throw isClosed(name);
  }

  /** Rejects, and never throws. */
  function decide(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    charge: boolean,
    groups?: readonly Group[],
  ): Promise<Decision> {
    try {
      const cost =
        options === undefined
          ? 1
          : readCost("consume and peek", options, ["cost", "limits"], charge ? 1 : 0);
      requireOpen();
      if (options?.limits !== undefined) {
        return decider.decide(countersUnder(options.limits, subject, groups), cost, charge);
      }
      const known = charge ? decider.admitKnown?.(subject, cost) : undefined;
      if (known !== undefined) return Promise.resolve(known);
      return decider.decide(countersOf(counted, subject, groups), cost, charge);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  async function consumeInTurn(
    groups: readonly Group[],
    subject: Subjects,
    options: ConsumeOptions = {},
    turn: TurnOptions,
  ): Promise<Turn | undefined> {
    const ask = () => decide(subject, options, true, groups);
    if (counted.shadow) return { decision: await ask(), waitedMs: undefined };
    const cost = checkCost(options.cost);
    const counters =
      options.limits === undefined
        ? countersOf(counted, subject, groups)
        : countersUnder(options.limits, subject, groups);
    if (impossibleIn(counters, cost) !== undefined) {
      return { decision: await ask(), waitedMs: undefined };
    }
    const { now } = counted.store;
    const call = {
      line: lineOf(counters),
      maxLine,
      attempt: ask,
      giveBack: decider.giveBack,
      deniedBy: (denial: Denial) => agedDenial(counted, denial, cost, now()),
      now,
    };
    return takeTurn(queue, call, turn);
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
  ): Promise<Decision> {
    const started = performance.now();
    const decision = await decide(subject, options, true);
    publishTaken(subject, decision, performance.now() - started);
    return decision;
  }

  function consume(subject: Subjects, options?: ConsumeOptions): Promise<Decision> {
    return areDecisionsHeard() ? consumeHeard(subject, options) : decide(subject, options, true);
  }

  return {
    name,
    limits: counted.limits.map(({ name, per, limit, windowMs }) => ({
      name,
      per,
      limit,
      windowMs,
    })),
    [LIMITER]: {
      counted,
      parent,
      consumeIn: (groups, subject, options) => decide(subject, options, true, groups),
      consumeInTurn,
      watch: decider.watch,
      isClosed: () => closed,
    },

    consume,
    peek: (subject, options) => decide(subject, options, false),

    async refund(decision, more?: unknown) {
      requireOpen();
      rejectMore("refund(decision)", more);
      return decider.giveBack(decision);
    },

    async charge(subject, options = {}) {
      requireOpen();
      const cost = readCost("charge", options, ["cost"]);
      return decider.charge(countersOf(counted, subject), cost);
    },

    async settle(decision, units, more?: unknown) {
      requireOpen();
      rejectMore("settle(decision, units)", more);
      return decider.settle(decision, requireUnits("units", units, 0));
    },

    async reset(subject, more?: unknown) {
      requireOpen();
      rejectMore("reset(subject)", more);
      return decider.forget(namedCountersOf(counted, subject));
    },

    async wait(subject, options = {}) {
      requireOpen();
      rejectUnknownOptions("wait", options, ["cost", "timeout", "signal"]);
      const counters = countersOf(counted, subject);
      const cost = checkCost(options.cost);
      const { signal } = options;
      if (signal !== undefined && !(signal instanceof AbortSignal)) {
        throw invalidOption("signal must be an AbortSignal", signal);
      }
      if (!counted.shadow) rejectImpossible(counters, cost);
      const timeoutMs =
        options.timeout === undefined
          ? undefined
          : toMilliseconds(
              parseDuration(options.timeout, "timeout", "HEADGATE_INVALID_OPTION", formatNumber),
            );
      if (counted.shadow) {
        signal?.throwIfAborted();
        return consume(subject, { cost });
      }
      const last: { durationMs: number | undefined } = { durationMs: undefined };
      const ask = async () => {
        requireOpen();
        const started = areDecisionsHeard() ? performance.now() : undefined;
        const answer = await decider.decide(counters, cost, true);
        last.durationMs = started && performance.now() - started;
        return answer;
      };
      const decision = await queue.enter(lineOf(counters), ask, { timeoutMs, signal });
      // Of all attempts, the one that admitted is the caller's answer.
      if (last.durationMs !== undefined) publishTaken(subject, decision, last.durationMs);
      return decision;
    },

    async close(...given: unknown[]) {
      rejectCloseOptions(given);
      if (closed) return;
      closed = true;
      claim.release();
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

function readCost(
  owner: string,
  options: CostOptions,
  known: readonly string[],
  least = 1,
): number {
  rejectUnknownOptions(owner, options, known);
  return checkCost(options.cost, least);
}

function checkCost(cost = 1, least = 1): number {
  return requireUnits("cost", cost, least);
}

function requireUnits(what: string, units: number, least: number): number {
  // Turns -0 into 0.
  if (Number.isSafeInteger(units) && units >= least) return units + 0;
  throw new HeadgateError(
    "HEADGATE_INVALID_COST",
    `${what} must be a whole number from ${least} to 2^53 - 1, got ${formatNumber(units)}`,
  );
}

/** Whom a call waits with. */
function lineOf(counters: readonly SubjectCounter[]): string {
  return counters.map(({ key }) => key).join(" ");
}

/** The limit that a cost can never pass. */
function impossibleIn(
  counters: readonly SubjectCounter[],
  cost: number,
): LimitDescription | undefined {
  for (const { limits } of counters) {
    const impossible = limits.find(({ limit }) => cost > limit);
    if (impossible !== undefined) return impossible;
  }
  return undefined;
}

function rejectImpossible(counters: readonly SubjectCounter[], cost: number): void {
  const impossible = impossibleIn(counters, cost);
  if (impossible === undefined) return;
  const { name, limit } = impossible;
  throw new HeadgateError(
    "HEADGATE_COST_ABOVE_LIMIT",
    `a cost of ${cost} can never pass the limit ${formatReceived(name)}, which grants ${limit} at most`,
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
