import type { ChargeResult, Cost } from "../common/cost.ts";
import { joinChargeResults } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { formatReceived, invalidOption } from "../common/errors.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { requireUndelivered } from "../health/store-failure.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { internalsOf, LIMITER } from "../limiter/limiter-internals.ts";
import { countedSubjects } from "../limiter/published-decision.ts";
import { requireSameForm } from "../policy/costs.ts";
import { unwrapRequest } from "./client.ts";
import type { DecidedCall, LimiterCall } from "./request-record.ts";
import {
  findBindingDecision,
  isDecided,
  limiterCallsOf,
  limiterCallsTo,
} from "./request-record.ts";
import type { RequestSubjects } from "./subject.ts";

/** A limiter's decision on a request, as returned by `decisionOf(request)`. */
export interface RequestDecision {
  /** The decision; if its dimensions were decided at different times, the binding one. */
  readonly decision: Decision;
  /** The subjects that were counted, by dimension, as `limiter.reset`, `peek` and `consume` take them. */
  readonly subject: RequestSubjects;
  readonly limiter: Limiter;
  /**
   * Changes this request's cost here, once: to a whole number of at least 0, or to units by limits' names. Rejects with
   * the same errors as `limiter.settle`.
   */
  settle<Units extends Cost>(units: Units): Promise<ChargeResult<Units>>;
  /**
   * Refunds this request's charge here. Resolves with true if something was refunded. Rejects with the same errors as
   * `limiter.refund`.
   */
  refund(): Promise<boolean>;
  /**
   * Releases the slots that this request holds here, before its response ends. Resolves with true if it held one. Rejects with the
   * same errors as `limiter.release`.
   */
  release(): Promise<boolean>;
}

/** A decision to be settled when the response ends. */
export interface UnsettledDecision extends RequestDecision {
  /** Settles it at its charge, which confirms the charge for limits that block on settle. */
  confirm(): Promise<unknown>;
}

/** The decision of some limiters on a request; undefined if no limiter of them was called. */
export function decisionOf(
  request: object,
  limiters: readonly LimiterWithInternals[],
): RequestDecision | undefined {
  const httpRequest = unwrapRequest(request);
  return joinCalls(httpRequest, limiters, limiterCallsTo(httpRequest, limiters).filter(isDecided));
}

/**
 * The same for calls not yet settled by a response's end, which are marked as settled. `isImplied`: there is no `count`
 * option, so calls of a guard with that option are left to it.
 */
export function takeUnsettled(
  request: object,
  limiters: readonly LimiterWithInternals[],
  isImplied: boolean,
): UnsettledDecision | undefined {
  const httpRequest = unwrapRequest(request);
  const calls = limiterCallsTo(httpRequest, limiters)
    .filter(isDecided)
    .filter(({ isSettled, count }) => !isSettled && !(isImplied && count !== undefined));
  for (const call of calls) call.isSettled = true;
  const decision = joinCalls(httpRequest, limiters, calls);
  return decision && { ...decision, confirm: () => Promise.all(calls.map(confirmCall)) };
}

async function confirmCall({ limiter, decision }: DecidedCall): Promise<void> {
  const { policy, perCallPolicies, chargeMethods } = limiter[LIMITER];
  if (!policy.blocksOnSettle && !perCallPolicies.blocksOnSettle) return;
  // By name, unnamed limits keep their charge.
  await chargeMethods.settle(decision, typeof decision.cost === "number" ? decision.cost : {});
}

function joinCalls(
  request: object,
  limiters: readonly LimiterWithInternals[],
  calls: readonly DecidedCall[],
): RequestDecision | undefined {
  const [first] = calls;
  if (first === undefined) return undefined;
  // Of limiters that use the same keys, the one that was called.
  const limiter = limiters.includes(first.limiter)
    ? first.limiter
    : (limiters.find((one) => limiterCallsTo(request, [one]).includes(first)) ?? first.limiter);

  async function isAny(change: (call: DecidedCall) => Promise<boolean>): Promise<boolean> {
    return (await Promise.all(calls.map(change))).includes(true);
  }

  return {
    decision: findBindingDecision(calls.map(({ decision }) => decision)),
    subject: subjectIn(limiter, calls),
    limiter,
    async settle<Units extends Cost>(units: Units) {
      // Before any of them is settled.
      for (const { decision } of calls) requireSameForm(decision, units);
      const settled = calls.map((call) =>
        call.limiter[LIMITER].chargeMethods.settle(call.decision, unitsFor(call, units, calls)),
      );
      return joinChargeResults<Units>(await Promise.all(settled));
    },
    refund: () => isAny((call) => call.limiter[LIMITER].chargeMethods.refund(call.decision)),
    release: () => isAny((call) => call.limiter.release(call.decision)),
  };
}

/** The units for a call's limits. A name that no call knows stays, so that all of them reject it. */
function unitsFor<Units extends Cost>(
  limiterCall: LimiterCall,
  units: Units,
  calls: readonly LimiterCall[],
): Units {
  if (!isPlainObject(units) || calls.length === 1) return units;
  const knows = ({ limiter, decision }: LimiterCall, name: string) =>
    [...limiter.limits, ...(decision?.limits ?? [])].some((limit) => limit.name === name);
  const own = Object.entries(units).filter(
    ([name]) => knows(limiterCall, name) || !calls.some((other) => knows(other, name)),
  );
  return Object.fromEntries(own) as Units;
}

/** The subjects that a limiter counted in these calls. */
function subjectIn(limiter: LimiterWithInternals, calls: readonly LimiterCall[]): RequestSubjects {
  const own = limiter[LIMITER].policy.groups.map(({ dimension }) => dimension);
  const asked = calls.map(({ groups, subjects }) => ({
    groups: groups.filter(({ dimension }) => own.includes(dimension)),
    subjects,
  }));
  return countedSubjects(...asked);
}

/**
 * The subject under which any limiter last counted a request, as that limiter's `reset` takes it; undefined if it was not
 * counted. Limiters in shadow mode are left out. For one limiter's subject, use its `decisionOf(request)`.
 */
export function subjectOf(request: object): RequestSubjects | undefined {
  const last = limiterCallsOf(unwrapRequest(request)).findLast(
    ({ decision }) => decision?.shadow === false,
  );
  return last && subjectIn(last.limiter, [last]);
}

/** Throws `HEADGATE_INVALID_OPTION` for a dimension that no limiter counts by, and for `global`, whose counter all clients share. */
export function requireResettable(
  owner: string,
  dimensions: readonly string[] | undefined,
  limiters: readonly LimiterWithInternals[],
): void {
  const groups = limiters.flatMap((limiter) => limiter[LIMITER].policy.groups);
  const counted = [...new Set(groups.map(({ dimension }) => dimension))];
  const own = counted.filter((dimension) => dimension !== GLOBAL_DIMENSION);
  const wrong = dimensions?.find((dimension) => !own.includes(dimension));
  if (wrong === undefined) return;
  const why =
    wrong === GLOBAL_DIMENSION
      ? "would reset all clients at once"
      : `has ${formatReceived(wrong)}, but the limits count per ${counted.map(formatReceived).join(", ")}`;
  throw invalidOption(`${owner}: resetDimensions ${why}`);
}

/**
 * Deletes the usage of a request's client in these limiters, in the named dimensions. Resolves with true if a record was
 * deleted; with false also if the store is unavailable.
 */
export async function resetClient(
  owner: string,
  request: object,
  limiters: readonly LimiterWithInternals[],
  dimensions: readonly string[] | undefined,
): Promise<boolean> {
  if (dimensions === undefined) throw missingDimensionsError(owner);
  const own = decisionOf(request, limiters);
  if (own === undefined) return false;
  const { subject, limiter } = own;
  const counted = dimensions.filter((dimension) => typeof subject[dimension] === "string");
  if (counted.length === 0) return false;
  try {
    return await limiter.reset(
      Object.fromEntries(counted.map((dimension) => [dimension, subject[dimension]])),
    );
  } catch (error) {
    const { monitor } = internalsOf(limiter);
    if (monitor === undefined) throw error;
    // The request succeeded, so it must not fail because its client cannot be reset.
    requireUndelivered(error, monitor.log);
    return false;
  }
}

function missingDimensionsError(owner: string): HeadgateError {
  return invalidOption(
    `${owner}: resetClient(request) needs the option resetDimensions, as in resetDimensions: ["account"]`,
  );
}
