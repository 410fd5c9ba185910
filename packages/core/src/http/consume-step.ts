import type { CostByName } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import { formatReceived, invalidOption } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { ConsumeOptions } from "../limiter/limiter.ts";
import type { ControlFreshness, LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import type { DecisionMessage } from "../limiter/published-decision.ts";
import { countedSubjects, decisions, publishDecision } from "../limiter/published-decision.ts";
import { unitsFor } from "../policy/costs.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import type { Verdict } from "./apply-verdict.ts";
import { DISCONNECTED, PASS } from "./apply-verdict.ts";
import type { HeaderSettings, PolicyText } from "./headers.ts";
import { policyTextOf } from "./headers.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import { toVerdict } from "./rate-limit-response.ts";
import type { GuardStep, PreparedLimiter, RequestContext } from "./request-context.ts";
import {
  hasNoSubject,
  hasSameNames,
  hideRequestLimits,
  holdRequestSlots,
  rejectBlocksWithWait,
} from "./request-limits.ts";
import type { LimiterCall, RecordedRequest } from "./request-record.ts";
import {
  addLimiterCall,
  hasCalledAll,
  limiterCallsTo,
  removeLimiterCall,
  reportedDecisionsOf,
} from "./request-record.ts";
import { holdSlots, watchDisconnect } from "./response-end.ts";
import type { RequestSubjects } from "./subject.ts";

/** The freshness for most requests, which wait for nothing. */
const FRESH_CONTROL: ControlFreshness = { usedTimeoutMs: 0, isFresh: true };

/**
 * The last step: calls the limiter and formats the response headers. `closing` aborts when all waits must end; `routeOf` returns a
 * request's route.
 */
export function createConsumeStep<Request extends object>(
  owner: string,
  settings: GuardSettings<Request>,
  closing: AbortSignal,
  routeOf: (request: Request) => string | undefined,
): GuardStep<Request> {
  const { count, cost, waitMs, missingKey } = settings;
  const hasAll = missingKey !== "skip";
  const report = createDecisionReporter(owner, settings, routeOf);
  const consumeInTurn =
    waitMs === undefined ? undefined : createQueueStep(owner, waitMs, closing, report);

  function consume(context: RequestContext<Request>): Awaitable<Verdict> {
    const { httpRequest } = context;
    const { limiter, internals } = context.prepared as PreparedLimiter<Request>;
    if (count !== undefined) recordCountOption(owner, httpRequest, limiter, count);
    const limiterCall = addLimiterCall(
      httpRequest,
      limiter,
      context.subjects as RequestSubjects,
      hasAll,
      settings,
    );
    if (limiterCall === undefined) {
      if (cost !== undefined) rejectUnusedCost(owner, httpRequest, limiter, cost);
      return PASS;
    }
    context.limiterCall = limiterCall;
    if (decisions.hasSubscribers) context.startedAt = performance.now();
    const { costOptions, limits } = context;
    const options = limits === undefined ? costOptions : { ...costOptions, limits };
    if (consumeInTurn !== undefined) return consumeInTurn(context, options);
    let decided: Awaitable<Decision>;
    try {
      decided = internals.consumeGroups(
        limiterCall.groups,
        limiterCall.subjects,
        options,
        context.isControlFresh && context.controlWaitMs === 0
          ? FRESH_CONTROL
          : { usedTimeoutMs: context.controlWaitMs, isFresh: context.isControlFresh },
      );
    } catch (error) {
      return handleFailure(owner, context, error);
    }
    if (!("then" in decided)) return report(context, decided);
    return decided.then(
      (decision) => report(context, decision),
      (error) => handleFailure(owner, context, error),
    );
  }

  return consume;
}

/** Turns the limiter's decision on a request into a verdict. */
type DecisionReporter<Request> = (
  context: RequestContext<Request>,
  decision: Decision,
  waitedMs?: number,
) => Verdict;

/** The step for requests that wait in a queue if they would be denied. */
function createQueueStep<Request extends object>(
  owner: string,
  timeoutMs: number,
  closing: AbortSignal,
  report: DecisionReporter<Request>,
): (context: RequestContext<Request>, options: ConsumeOptions | undefined) => Promise<Verdict> {
  return async (context, options) => {
    const { client, response, controlWaitMs } = context;
    const { internals } = context.prepared as PreparedLimiter<Request>;
    const { groups, subjects } = context.limiterCall as LimiterCall;
    if (context.limits !== undefined) rejectBlocksWithWait(owner, context);
    const waitOptions = {
      timeoutMs,
      usedTimeoutMs: controlWaitMs,
      watchDisconnect: () => watchDisconnect(response as object, client, closing),
    };
    let turn: Awaited<ReturnType<typeof internals.consumeOrWait>>;
    try {
      turn = await internals.consumeOrWait(groups, subjects, options, waitOptions);
    } catch (error) {
      return handleFailure(owner, context, error);
    }
    return turn === undefined ? DISCONNECTED : report(context, turn.decision, turn.waitedMs);
  };
}

/** Removes an undecided call. Returns `PASS` if no limit applies to the request, and throws otherwise. */
function handleFailure<Request extends object>(
  owner: string,
  context: RequestContext<Request>,
  error: unknown,
): Verdict {
  const { httpRequest, limits, limiterCall } = context;
  removeLimiterCall(httpRequest, limiterCall as LimiterCall);
  if (hasNoSubject(context, error)) return PASS;
  throw limits === undefined ? error : hideRequestLimits(owner, error);
}

function createDecisionReporter<Request extends object>(
  owner: string,
  { headers, onDenied }: GuardSettings<Request>,
  routeOf: (request: Request) => string | undefined,
): DecisionReporter<Request> {
  const showsWait = headers.legacy !== false || headers.standard;
  /** Whether the application may let a denied request through. */
  const mayPass = typeof onDenied === "function";

  function report(
    context: RequestContext<Request>,
    decision: Decision,
    waitedMs?: number,
  ): Verdict {
    const { request, httpRequest, response, limits, startedAt } = context;
    const { internals } = context.prepared as PreparedLimiter<Request>;
    const limiterCall = context.limiterCall as LimiterCall;
    internals.usage?.record(countedSubjects(limiterCall), decision);
    if (internals.policy.hasSlots && response !== undefined) {
      const slots = slotsOf(decision, internals.policy);
      if (slots !== undefined) holdSlots(slots, response);
    } else if (limits !== undefined && internals.perCallPolicies.hasSlots) {
      holdRequestSlots(owner, slotsOf(decision, internals.policy), response);
    }
    limiterCall.decision = decision;
    limiterCall.policyText = findPolicyText(context, decision, headers);
    const message =
      startedAt === undefined
        ? undefined
        : buildMessage(routeOf(request), limiterCall, decision, performance.now() - startedAt);
    // A decision in shadow mode is not shown, and earlier decisions were shown already.
    const verdict = decision.shadow
      ? PASS
      : toVerdict(reportedDecisionsOf(httpRequest), Date.now(), showsWait ? waitedMs : undefined);
    if (verdict.kind === "denied" && mayPass) {
      return { ...verdict, recordOutcome: createOutcomeRecorder(limiterCall, message) };
    }
    if (message !== undefined) publishDecision(message);
    return verdict;
  }

  return report;
}

/** The prepared text for a decision's limits; undefined if the decision lacks some of the limiter's. */
function findPolicyText<Request>(
  { limits, prepared }: RequestContext<Request>,
  decision: Decision,
  headers: HeaderSettings,
): PolicyText | undefined {
  const { limiter, policyText, namesOnly, internals } = prepared as PreparedLimiter<Request>;
  const isOther =
    limits !== undefined && internals.perCallPolicies.isUsed && !hasSameNames(limiter, decision);
  if (!isOther && !decision.degraded && decision.limits.length === limiter.limits.length) {
    return limits === undefined && !decision.overridden ? policyText : namesOnly;
  }
  return policyTextOf(decision, headers);
}

function buildMessage(
  route: string | undefined,
  limiterCall: LimiterCall,
  decision: Decision,
  durationMs: number,
): DecisionMessage {
  const { limiter } = limiterCall;
  const { plugin } = limiter[LIMITER].policy.labels;
  const subject = countedSubjects(limiterCall);
  return { limiter: limiter.name, plugin, route, subject, decision, durationMs };
}

/**
 * Records once whether the application let a denied request through, and publishes the decision if the channel has subscribers.
 */
function createOutcomeRecorder(
  limiterCall: LimiterCall,
  message: DecisionMessage | undefined,
): (passed: boolean) => void {
  let isOver = false;
  return (allowedByOnDenied) => {
    if (isOver) return;
    isOver = true;
    if (allowedByOnDenied) limiterCall.passed = true;
    if (message !== undefined)
      publishDecision(allowedByOnDenied ? { ...message, allowedByOnDenied } : message);
  };
}

/** A `count` option also works after the request was charged. If there are two different ones, the second would be ignored. */
function recordCountOption(
  owner: string,
  httpRequest: RecordedRequest,
  limiter: LimiterWithInternals,
  count: unknown,
): void {
  for (const limiterCall of limiterCallsTo(httpRequest, [limiter])) {
    limiterCall.count ??= count;
    if (limiterCall.count === count) continue;
    throw invalidOption(
      `${owner}: count would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request under another count; give the same one, or none`,
    );
  }
}

/**
 * Throws for a cost that comes too late, because another guard has already called this limiter. It is not too late if this guard
 * counts by a dimension of its own, for which only this request lacks a subject.
 */
function rejectUnusedCost(
  owner: string,
  httpRequest: RecordedRequest,
  limiter: LimiterWithInternals,
  cost: unknown,
): void {
  if (!hasCalledAll(httpRequest, limiter)) return;
  if (
    limiterCallsTo(httpRequest, [limiter]).some((limiterCall) => isSameCost(limiterCall.cost, cost))
  )
    return;
  throw invalidOption(
    `${owner}: cost would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request; give the cost where the limiter is called first`,
  );
}

/** Whether two costs are equal for every limit. */
function isSameCost(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every(
    (name) => unitsFor(one as CostByName, name) === unitsFor(other as CostByName, name),
  );
}
