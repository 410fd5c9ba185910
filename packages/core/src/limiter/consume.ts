import type { Awaitable } from "../common/awaitable.ts";
import type { Cost } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { invalidOption } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { Policy } from "../common/policy.ts";
import type { DecideMode } from "../operations/decide-call.ts";
import { createDecisionRequest } from "../pipeline/decision-request.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import { assignCosts } from "../policy/costs.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { countersOf, isShadowDecision } from "../policy/counters.ts";
import { countersOfPerCallPolicy } from "../policy/per-call-policy.ts";
import type { ConsumeOptions, Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import type { ControlFreshness, LimiterInternals } from "./limiter-internals.ts";
import type { PolicyCompiler } from "./policy-cache.ts";
import { PolicyCache } from "./policy-cache.ts";
import { countedSubjects, decisions, publishLimiterDecision } from "./published-decision.ts";
import { readCost } from "./read-cost.ts";

/** Asks a limiter once, without waiting. */
export interface ConsumeMethods
  extends Pick<Limiter, "consume" | "peek">,
    Pick<LimiterInternals, "consumeDimensions"> {
  /** `consume` in a mode other than the limiter's own. */
  consumeInMode(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision>;
  /** The policy of a call: the limiter's own, or that of its `limits`. Throws `HEADGATE_INVALID_LIMIT`, `HEADGATE_INVALID_OPTION`. */
  policyOf(limits: Policy | undefined): CompiledPolicy;
  /** The counters that a call asks under its policy. Throws the errors of `countersOf`. */
  countersOf(
    policy: CompiledPolicy,
    subject: Subjects,
    groups?: readonly LimitGroup[] | undefined,
  ): SubjectCounter[];
}

export function createConsumeMethods(core: LimiterCore, compiler: PolicyCompiler): ConsumeMethods {
  const {
    policy: counted,
    pipeline,
    perCallPolicies,
    monitor,
    control,
    overrides,
    usage,
    hasLease,
    inFlight,
  } = core;
  let policyCache: PolicyCache | undefined;

  function policyOf(limits: Policy | undefined): CompiledPolicy {
    if (limits === undefined) return counted;
    if (hasLease) throw limitsWithLeaseError();
    policyCache ??= new PolicyCache(compiler, perCallPolicies);
    return policyCache.compile(limits);
  }

  function countersFor(
    policy: CompiledPolicy,
    subject: Subjects,
    groups?: readonly LimitGroup[],
  ): SubjectCounter[] {
    if (policy === counted) return countersOf(counted, subject, groups);
    if (policy.perCallKeyspace !== undefined)
      return countersOfPerCallPolicy(policy, counted, subject, groups);
    const asked = groups?.map(
      (group) => policy.groups[counted.groups.indexOf(group)] as LimitGroup,
    );
    return countersOf(policy, subject, asked);
  }

  /** Decides, once operators' changes are known. Throws, or rejects with, the errors of the call. */
  function consumeDimensions(
    groups: readonly LimitGroup[] | undefined,
    subject: Subjects,
    options: ConsumeOptions | undefined,
    learned?: ControlFreshness,
    mode: DecideMode = "enforce",
  ): Awaitable<Decision> {
    const waitedMs = learned?.waitedMs ?? 0;
    if (
      control !== undefined &&
      learned?.isFresh !== true &&
      performance.now() >= control.cache.refreshDueAt
    ) {
      const refreshed = control.refresh();
      if (refreshed !== undefined) {
        return inFlight.track(
          consumeAfterRefresh(refreshed, groups, subject, options, mode, waitedMs),
        );
      }
    }
    let cost: Cost = 1;
    const limits = options?.limits;
    let policy = counted;
    if (options !== undefined) {
      rejectUnknownOptions("consume and peek", options, ["cost", "limits"]);
      if (limits !== undefined) policy = policyOf(limits);
      cost = readCost(core, options.cost, policy);
    }
    if (pipeline.admitFromLease !== undefined && limits === undefined && mode !== "peek") {
      const admitted =
        typeof cost === "number" && cost > 0 ? pipeline.admitFromLease(subject, cost) : undefined;
      if (admitted !== undefined) return admitted;
    }
    const counters =
      limits === undefined
        ? countersOf(counted, subject, groups)
        : countersFor(policy, subject, groups);
    const inForce = overrides?.indexes === undefined ? counters : overrides.apply(counters, policy);
    // In shadow mode no block is set.
    const asked = mode === "enforce" && isShadowDecision(counted, inForce) ? "charge" : mode;
    const by = policy.perCallKeyspace === undefined ? counted : policy;
    if (typeof cost === "number")
      return pipeline.decide(createDecisionRequest(by, inForce, cost, asked, waitedMs));
    const named = assignCosts(inForce, cost);
    return pipeline.decide(createDecisionRequest(by, named.counters, named.cost, asked, waitedMs));
  }

  /** Decides after the control record has been read. */
  async function consumeAfterRefresh(
    refreshed: Promise<unknown>,
    groups: readonly LimitGroup[] | undefined,
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
    waitedMs: number,
  ): Promise<Decision> {
    const began = monitor?.now() ?? 0;
    await refreshed;
    const learned = { isFresh: true, waitedMs: waitedMs + (monitor?.now() ?? 0) - began };
    return consumeDimensions(groups, subject, options, learned, mode);
  }

  // Not async: that would make each decision in this process a third slower.
  function consumeInMode(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision> {
    const started = decisions.hasSubscribers ? performance.now() : undefined;
    try {
      const decided = consumeDimensions(undefined, subject, options, undefined, mode);
      if (started === undefined && usage === undefined) return Promise.resolve(decided);
      return decided instanceof Promise
        ? decided.then((decision) => recordDecision(subject, decision, started))
        : Promise.resolve(recordDecision(subject, decided, started));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** The decision, after publishing it and counting it for operators. */
  function recordDecision(
    subject: Subjects,
    decision: Decision,
    started: number | undefined,
  ): Decision {
    if (started !== undefined)
      publishLimiterDecision(core, subject, decision, performance.now() - started);
    usage?.record(countedSubjects({ groups: counted.groups, subjects: subject }), decision);
    return decision;
  }

  return {
    consume: (subject, options) => consumeInMode("enforce", subject, options),
    peek: async (subject, options) =>
      consumeDimensions(undefined, subject, options, undefined, "peek"),
    consumeDimensions,
    consumeInMode,
    policyOf,
    countersOf: countersFor,
  };
}

/** Units leased under one set of numbers do not show whether other numbers allow. */
function limitsWithLeaseError(): HeadgateError {
  return invalidOption(
    "a limiter with lease takes no limits for a call, because it takes units ahead under its own; leave one of them out",
  );
}
