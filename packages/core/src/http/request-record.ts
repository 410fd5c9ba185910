import type { Decision } from "../common/decision.ts";
import { bindingLimit } from "../common/decision.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { HeaderSettings, PolicyText } from "./headers.ts";
import type { RequestSubjects } from "./subject.ts";

/** A limiter's decision, with what it adds to the response. */
export interface ReportedDecision {
  readonly decision: Decision;
  readonly headers: HeaderSettings;
  /** The prepared text for the decision's limits, if they are all of the limiter's. */
  readonly policyText?: PolicyText | undefined;
  /** Whether the application let the denied request through. */
  readonly passed?: boolean | undefined;
}

/**
 * One call of a limiter for a request: the dimensions that had a subject and were not called before, and the decision. All
 * guards that a request passes share its calls.
 */
export interface LimiterCall extends Omit<ReportedDecision, "decision"> {
  readonly limiter: LimiterWithInternals;
  readonly groups: readonly LimitGroup[];
  readonly subjects: RequestSubjects;
  /** The option `cost` of the guard. */
  readonly cost: unknown;
  /** The option `count`, if any guard has it. */
  count: unknown;
  /** Whether the response's end has settled it, or will not. */
  isSettled: boolean;
  /** Undefined until it is decided. */
  decision: Decision | undefined;
  policyText: PolicyText | undefined;
  passed: boolean | undefined;
}

/** A call with its decision. */
export type DecidedCall = LimiterCall & ReportedDecision;

/** Under this symbol a request stores its calls, shared by all copies of Headgate that it passes. */
const LIMITER_CALLS: unique symbol = Symbol.for("@headgate/core.entries") as never;

/** A request that stores its calls: the HTTP request itself, not an object that wraps it. */
export interface RecordedRequest {
  [LIMITER_CALLS]?: readonly LimiterCall[];
}

const NONE: readonly never[] = [];

export function limiterCallsOf(request: RecordedRequest): readonly LimiterCall[] {
  return request[LIMITER_CALLS] ?? NONE;
}

/**
 * Records a call before it is made, with the dimensions that have a subject and were not called yet. Returns undefined if there
 * are none. `hasAll`: the request has every subject.
 */
export function addLimiterCall(
  request: RecordedRequest,
  limiter: LimiterWithInternals,
  subjects: RequestSubjects,
  hasAll: boolean,
  {
    cost,
    count,
    headers,
  }: Pick<Partial<LimiterCall>, "cost" | "count"> & Pick<LimiterCall, "headers">,
): LimiterCall | undefined {
  const { policy } = limiter[LIMITER];
  const entries = request[LIMITER_CALLS] ?? NONE;
  const isAll = hasAll && entries.length === 0;
  const groups = isAll
    ? policy.groups
    : policy.groups.filter(
        (group) => hasSubject(group, subjects) && !hasCalled(entries, policy, group),
      );
  if (groups.length === 0) return undefined;
  const limiterCall: LimiterCall = {
    limiter,
    groups,
    subjects,
    cost,
    count,
    headers,
    isSettled: false,
    decision: undefined,
    policyText: undefined,
    passed: undefined,
  };
  // A new list: copies of the request, and objects that inherit from it, may have the old one.
  request[LIMITER_CALLS] = entries.length === 0 ? [limiterCall] : [...entries, limiterCall];
  return limiterCall;
}

function hasSubject({ dimension }: LimitGroup, subjects: RequestSubjects): boolean {
  return dimension === GLOBAL_DIMENSION || typeof subjects[dimension] === "string";
}

/** A dimension of a limiter is called once per request, however often the limiter is mounted. */
function hasCalled(
  calls: readonly LimiterCall[],
  counted: CompiledPolicy,
  group: LimitGroup,
): boolean {
  return calls.some(({ limiter, groups }) => {
    const { policy: other } = limiter[LIMITER];
    // A limiter in shadow mode that let the request through does not decide for one that may deny it.
    if (other.shadow && !counted.shadow) return false;
    return groups.some((one) => shareCounters(other, one, counted, group));
  });
}

/** Limiters of one name on one store count together, even if they are different objects. */
function shareCounters(
  ofOne: CompiledPolicy,
  one: LimitGroup,
  ofOther: CompiledPolicy,
  other: LimitGroup,
): boolean {
  if (one === other) return true;
  const { owner, prefix } = ofOne.store;
  const isSameStore = owner === ofOther.store.owner && prefix === ofOther.store.prefix;
  return isSameStore && one.keySuffix === other.keySuffix;
}

/** Whether a request has called every dimension of a limiter, and had every subject. */
export function hasCalledAll(request: RecordedRequest, limiter: LimiterWithInternals): boolean {
  const { policy } = limiter[LIMITER];
  return policy.groups.every((group) => hasCalled(limiterCallsOf(request), policy, group));
}

/** Removes a call whose limiter failed. */
export function removeLimiterCall(request: RecordedRequest, limiterCall: LimiterCall): void {
  request[LIMITER_CALLS] = limiterCallsOf(request).filter((one) => one !== limiterCall);
}

/** A request's calls of these limiters, or of limiters that count together with them. */
export function limiterCallsTo(
  request: RecordedRequest,
  limiters: readonly LimiterWithInternals[],
): readonly LimiterCall[] {
  return limiterCallsOf(request).filter((limiterCall) =>
    limiters.some((limiter) => {
      const { policy } = limiter[LIMITER];
      return policy.groups.some((group) => hasCalled([limiterCall], policy, group));
    }),
  );
}

export function isDecided(limiterCall: LimiterCall): limiterCall is DecidedCall {
  return limiterCall.decision !== undefined;
}

/** Every decision on a request so far, except those in shadow mode. */
export function reportedDecisionsOf(request: RecordedRequest): readonly ReportedDecision[] {
  const entries = request[LIMITER_CALLS] ?? NONE;
  const [first] = entries;
  if (entries.length === 1 && first?.decision?.shadow === false) return entries as DecidedCall[];
  return entries.filter(isDecided).filter(({ decision }) => !decision.shadow);
}

/** The binding decision among all decisions on a request: the denial, or the one with the smallest share left. */
export function findBindingDecision(decisions: readonly Decision[]): Decision {
  const denied = decisions.find(({ wouldAllow }) => !wouldAllow);
  if (denied !== undefined) return denied;
  const limits = decisions.flatMap((decision) => decision.limits);
  // No limit was counted, because the store was unavailable.
  if (limits.length === 0) return decisions[0] as Decision;
  const binding = bindingLimit(limits, true);
  return decisions.find((decision) => decision.limits.includes(binding)) as Decision;
}
