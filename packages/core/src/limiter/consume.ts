import type { Cost } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { invalidOption } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Policy } from "../common/policy.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { DecideMode } from "../operations/decide-call.ts";
import { createDecisionRequest } from "../pipeline/decision-request.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import { assignCosts, requireCost, requireUpTo } from "../policy/costs.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import {
  countersOf as countersOfPolicy,
  isShadowDecision,
  knownSubjects,
} from "../policy/counters.ts";
import { countersOfPerCallPolicy } from "../policy/per-call-policy.ts";
import type { ConsumeOptions, Limiter, SubjectOptions, UpToOptions } from "./limiter.ts";
import type { ControlFreshness, LimiterCore } from "./limiter-internals.ts";
import type { PolicyCompiler } from "./per-call-policies.ts";
import { PolicyCache } from "./per-call-policies.ts";
import { countedSubjects, decisions, publishLimiterDecision } from "./published-decision.ts";

const CONSUME_OPTIONS: readonly string[] = ["cost", "upTo", "limits", "ignoreUnknownDimensions"];

/** The methods of a limiter that decide once, without waiting. */
export interface ConsumeMethods extends Pick<Limiter, "consume" | "peek"> {
  /** `consumeGroups` of `LimiterInternals`, in a mode that is by default the limiter's own. */
  consumeGroups(
    groups: readonly LimitGroup[] | undefined,
    subject: Subjects,
    options: ConsumeOptions | UpToOptions | undefined,
    freshness?: ControlFreshness,
    mode?: DecideMode,
  ): Awaitable<Decision>;
  /** `consume` in a mode other than the limiter's own. */
  consumeInMode(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | UpToOptions | undefined,
  ): Promise<Decision>;
  /**
   * The policy of a call: the limiter's own, or that of its `limits`. Throws `HEADGATE_INVALID_LIMIT`,
   * `HEADGATE_INVALID_OPTION`.
   */
  policyOf(limits: Policy | undefined): CompiledPolicy;
  /** The counters of a call under its policy. Throws the errors of `countersOf`. */
  countersOf(
    policy: CompiledPolicy,
    subject: Subjects,
    groups?: readonly LimitGroup[] | undefined,
  ): SubjectCounter[];
}

export function createConsumeMethods(core: LimiterCore, compiler: PolicyCompiler): ConsumeMethods {
  const {
    policy: ownPolicy,
    pipeline,
    perCallPolicies,
    monitor,
    control,
    usage,
    hasLease,
    inFlight,
  } = core;
  let policyCache: PolicyCache | undefined;

  function policyOf(limits: Policy | undefined): CompiledPolicy {
    if (limits === undefined) return ownPolicy;
    if (hasLease) throw limitsWithLeaseError();
    policyCache ??= new PolicyCache(compiler, perCallPolicies);
    return policyCache.compile(limits);
  }

  function countersOf(
    policy: CompiledPolicy,
    subject: Subjects,
    groups?: readonly LimitGroup[],
  ): SubjectCounter[] {
    if (policy === ownPolicy) return countersOfPolicy(ownPolicy, subject, groups);
    if (policy.perCallKeyspace !== undefined)
      return countersOfPerCallPolicy(policy, ownPolicy, subject, groups);
    const callGroups = groups?.map(
      (group) => policy.groups[ownPolicy.groups.indexOf(group)] as LimitGroup,
    );
    return countersOfPolicy(policy, subject, callGroups);
  }

  /** Decides after reading operators' changes, if they are due. Throws, or rejects with, the errors of the call. */
  function consumeGroups(
    groups: readonly LimitGroup[] | undefined,
    given: Subjects,
    options: ConsumeOptions | UpToOptions | undefined,
    freshness?: ControlFreshness,
    mode: DecideMode = "enforce",
  ): Awaitable<Decision> {
    const usedTimeoutMs = freshness?.usedTimeoutMs ?? 0;
    if (
      control !== undefined &&
      freshness?.isFresh !== true &&
      performance.now() >= control.cache.refreshDueAt
    ) {
      const refreshed = control.refresh();
      if (refreshed !== undefined) {
        return inFlight.track(
          consumeAfterRefresh(refreshed, groups, given, options, mode, usedTimeoutMs),
        );
      }
    }
    let cost: Cost = 1;
    let upTo: number | undefined;
    const limits = options?.limits;
    let policy = ownPolicy;
    let subject = given;
    if (options !== undefined) {
      rejectUnknownOptions("consume and peek", options, CONSUME_OPTIONS);
      subject = readSubject(ownPolicy, given, options);
      if (limits !== undefined) policy = policyOf(limits);
      cost = readCost(core, options.cost, policy, groups !== undefined);
      if (options.upTo !== undefined) upTo = readUpTo(options, hasLease);
    }
    if (pipeline.admitFromLease !== undefined && limits === undefined && mode !== "peek") {
      const admitted =
        typeof cost === "number" && cost > 0 ? pipeline.admitFromLease(subject, cost) : undefined;
      if (admitted !== undefined) return admitted;
    }
    const counters =
      limits === undefined
        ? countersOfPolicy(ownPolicy, subject, groups)
        : countersOf(policy, subject, groups);
    const effective =
      control?.overrides === undefined ? counters : control.override(counters, policy);
    // A decision in shadow mode sets no block.
    const effectiveMode =
      mode === "enforce" && isShadowDecision(ownPolicy, effective) ? "charge" : mode;
    const decidingPolicy = policy.perCallKeyspace === undefined ? ownPolicy : policy;
    if (typeof cost === "number")
      return pipeline.decide(
        createDecisionRequest(decidingPolicy, effective, cost, effectiveMode, usedTimeoutMs, upTo),
      );
    const assigned = assignCosts(effective, cost);
    return pipeline.decide(
      createDecisionRequest(
        decidingPolicy,
        assigned.counters,
        assigned.cost,
        effectiveMode,
        usedTimeoutMs,
      ),
    );
  }

  /** Decides after the control record was read, and counts that time as part of `storeTimeout`. */
  async function consumeAfterRefresh(
    refreshed: Promise<unknown>,
    groups: readonly LimitGroup[] | undefined,
    subject: Subjects,
    options: ConsumeOptions | UpToOptions | undefined,
    mode: DecideMode,
    usedTimeoutMs: number,
  ): Promise<Decision> {
    const startedAt = monitor?.now() ?? 0;
    await refreshed;
    const freshness = {
      isFresh: true,
      usedTimeoutMs: usedTimeoutMs + (monitor?.now() ?? 0) - startedAt,
    };
    return consumeGroups(groups, subject, options, freshness, mode);
  }

  // Not async: that would make each decision in this process a third slower.
  function consumeInMode(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | UpToOptions | undefined,
  ): Promise<Decision> {
    const started = decisions.hasSubscribers ? performance.now() : undefined;
    try {
      const decided = consumeGroups(undefined, subject, options, undefined, mode);
      if (started === undefined && usage === undefined) return Promise.resolve(decided);
      return decided instanceof Promise
        ? recordLater(core, subject, decided, started)
        : Promise.resolve(recordDecision(core, subject, decided, started));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  return {
    consume: (subject, options) => consumeInMode("enforce", subject, options),
    peek: async (subject, options) => consumeGroups(undefined, subject, options, undefined, "peek"),
    consumeGroups,
    consumeInMode,
    policyOf,
    countersOf,
  };
}

/** Publishes a decision, counts it in the usage, and returns it. */
export function recordDecision(
  core: LimiterCore,
  subject: Subjects,
  decision: Decision,
  started: number | undefined,
): Decision {
  if (started !== undefined)
    publishLimiterDecision(core, subject, decision, performance.now() - started);
  const { groups } = core.policy;
  core.usage?.record(countedSubjects({ groups, subjects: subject }), decision);
  return decision;
}

// Apart from `consumeInMode`: a closure in there would be allocated with every call.
async function recordLater(
  core: LimiterCore,
  subject: Subjects,
  decided: Promise<Decision>,
  started: number | undefined,
): Promise<Decision> {
  return recordDecision(core, subject, await decided, started);
}

/** The subject of a call. Throws `HEADGATE_INVALID_OPTION` for `ignoreUnknownDimensions` other than true or false. */
export function readSubject(
  policy: CompiledPolicy,
  subject: Subjects,
  { ignoreUnknownDimensions }: SubjectOptions,
): Subjects {
  if (ignoreUnknownDimensions === undefined) return subject;
  const ignores = readBoolean("ignoreUnknownDimensions", ignoreUnknownDimensions);
  return ignores ? knownSubjects(policy, subject) : subject;
}

/** The most units of a call with `upTo`. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`. */
function readUpTo({ cost, upTo }: UpToOptions, hasLease: boolean): number {
  if (cost !== undefined) {
    throw invalidOption(
      "cost charges so many units or none, and upTo as many as are left; leave one of them out",
    );
  }
  if (hasLease) {
    throw invalidOption(
      "upTo cannot be used with lease, because units that other processes have leased count as used; leave one of them out",
    );
  }
  return requireUpTo(upTo);
}

/** Units leased under one set of limits do not show whether other limits allow the request. */
function limitsWithLeaseError(): HeadgateError {
  return invalidOption(
    "a limiter with lease takes no limits for a call, because it takes units ahead under its own; leave one of them out",
  );
}

/**
 * A cost as one number, or by the names of the limits of the call: those passed with it, or else the limiter's own. The cost of
 * an HTTP guard is configured apart from a request's limits, so it may also name the guard's own limits (`isGuard`); such a
 * name is ignored where the request's limits lack it. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`.
 */
export function readCost(
  core: LimiterCore,
  cost: Cost = 1,
  policy: CompiledPolicy = core.policy,
  isGuard = false,
): Cost {
  const own = core.policy.limits;
  if (policy.perCallKeyspace === undefined) return readUnits(core, "cost", cost, own);
  return readUnits(core, "cost", cost, isGuard ? [...own, ...policy.limits] : policy.limits);
}

/** Units as one number, or by the names of these limits. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`. */
export function readUnits(
  { hasLease }: LimiterCore,
  option: "cost" | "units",
  given: Cost,
  limits: readonly { readonly name: string }[],
): Cost {
  const units = requireCost(option, given, limits);
  if (typeof units === "number" || !hasLease) return units;
  // Each leased unit counts for every limit, so a cost by name cannot be paid from a lease.
  throw invalidOption(
    "units by name cannot be used with lease, which takes the same units of all limits; leave one of them out",
  );
}
