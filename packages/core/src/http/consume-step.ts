import type { Awaitable } from "../common/awaitable.ts";
import type { Decision } from "../common/decision.ts";
import { formatReceived, invalidOption } from "../common/errors.ts";
import type { ConsumeOptions } from "../limiter/limiter.ts";
import type { ControlFreshness, LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import type { DecisionMessage } from "../limiter/published-decision.ts";
import { countedSubjects, decisions, publishDecision } from "../limiter/published-decision.ts";
import { allLimitsOf, slotsOf } from "../policy/limiter-decision.ts";
import { answerTo, policyHeaderFor, quoteName } from "./answer.ts";
import { holdSlots, watchLeaving } from "./follow-response.ts";
import {
  hasNoSubject,
  holdOwnSlots,
  isNamedAs,
  ofRequest,
  rejectBlocksInTurn,
} from "./own-limits.ts";
import type { GuardSettings } from "./parse-guard.ts";
import type { GuardStep, PreparedLimiter, RequestContext } from "./request-context.ts";
import { isSameCost } from "./request-cost.ts";
import type { Carrier, LimiterCall } from "./request-record.ts";
import {
  entriesWith,
  forgetEntry,
  hasRequestedAll,
  reportedOf,
  takeEntry,
} from "./request-record.ts";
import type { RequestSubjects } from "./subject.ts";
import type { HeaderSettings, PolicyText, Verdict } from "./verdict.ts";
import { LEFT, PASS } from "./verdict.ts";

/** For most requests, which do not wait for anything. */
const LEARNED: ControlFreshness = { waitedMs: 0, isFresh: true };

/**
 * The last step: asks the limiter and writes the response headers. `ending` aborts when all waits must end; `routeOf` returns a
 * request's route.
 */
export function createConsumeStep<Request extends object>(
  owner: string,
  settings: GuardSettings<Request>,
  ending: AbortSignal,
  routeOf: (request: Request) => string | undefined,
): GuardStep<Request> {
  const { count, cost, waitMs, missing } = settings;
  const hasAll = missing !== "skip";
  const report = createReport(owner, settings, routeOf);
  const askInTurn =
    waitMs === undefined ? undefined : createTurnStep(owner, waitMs, ending, report);

  function consume(context: RequestContext<Request>): Awaitable<Verdict> {
    const { carried } = context;
    const { limiter, parts: internals } = context.prepared as PreparedLimiter<Request>;
    if (count !== undefined) noteCount(owner, carried, limiter, count);
    const limiterCall = takeEntry(
      carried,
      limiter,
      context.subjects as RequestSubjects,
      hasAll,
      settings,
    );
    if (limiterCall === undefined) {
      if (cost !== undefined) rejectUnreadCost(owner, carried, limiter, cost);
      return PASS;
    }
    context.limiterCall = limiterCall;
    if (decisions.hasSubscribers) context.started = performance.now();
    const { charge, limits } = context;
    const options = limits === undefined ? charge : { ...charge, limits };
    if (askInTurn !== undefined) return askInTurn(context, options);
    let decided: Awaitable<Decision>;
    try {
      decided = internals.consumeDimensions(
        limiterCall.groups,
        limiterCall.subjects,
        options,
        context.isFresh && context.controlMs === 0
          ? LEARNED
          : { waitedMs: context.controlMs, isFresh: context.isFresh },
      );
    } catch (error) {
      return fail(owner, context, error);
    }
    if (!("then" in decided)) return report(context, decided);
    return decided.then(
      (decision) => report(context, decision),
      (error) => fail(owner, context, error),
    );
  }

  return consume;
}

/** Writes the answer to a request by the limiter's decision on it. */
type Report<Request> = (
  visit: RequestContext<Request>,
  decision: Decision,
  waitedMs?: number,
) => Verdict;

/** Asks for a request that waits in line if it is denied. */
function createTurnStep<Request extends object>(
  owner: string,
  timeoutMs: number,
  ending: AbortSignal,
  report: Report<Request>,
): (visit: RequestContext<Request>, options: ConsumeOptions | undefined) => Promise<Verdict> {
  return async (context, options) => {
    const { client, response } = context;
    const { parts: internals } = context.prepared as PreparedLimiter<Request>;
    const { groups, subjects } = context.limiterCall as LimiterCall;
    if (context.limits !== undefined) rejectBlocksInTurn(owner, context);
    const line = {
      timeoutMs,
      watchDisconnect: () => watchLeaving(response as object, client, ending),
    };
    let turn: Awaited<ReturnType<typeof internals.consumeOrWait>>;
    try {
      turn = await internals.consumeOrWait(groups, subjects, options, line);
    } catch (error) {
      return fail(owner, context, error);
    }
    return turn === undefined ? LEFT : report(context, turn.decision, turn.waitedMs);
  };
}

/** Removes an undecided entry. Returns `PASS` if there was nothing to ask, and throws otherwise. */
function fail<Request extends object>(
  owner: string,
  context: RequestContext<Request>,
  error: unknown,
): Verdict {
  const { carried, limits, limiterCall } = context;
  forgetEntry(carried, limiterCall as LimiterCall);
  if (hasNoSubject(context, error)) return PASS;
  throw limits === undefined ? error : ofRequest(owner, error);
}

function createReport<Request extends object>(
  owner: string,
  { headers, onDenied }: GuardSettings<Request>,
  routeOf: (request: Request) => string | undefined,
): Report<Request> {
  const showsWait = headers.legacy !== false || headers.standard;
  /** Whether the application may let a denied request through. */
  const mayPass = typeof onDenied === "function";

  function report(
    context: RequestContext<Request>,
    decision: Decision,
    waitedMs?: number,
  ): Verdict {
    const { request, carried, response, limits, started } = context;
    const { parts: internals } = context.prepared as PreparedLimiter<Request>;
    const limiterCall = context.limiterCall as LimiterCall;
    internals.usage?.record(countedSubjects(limiterCall), decision);
    if (internals.policy.hasSlots && response !== undefined) {
      const places = slotsOf(decision, internals.policy);
      if (places !== undefined) holdSlots(places, response);
    } else if (limits !== undefined && internals.perCallPolicies.hasSlots) {
      holdOwnSlots(owner, slotsOf(decision, internals.policy), response);
    }
    limiterCall.decision = decision;
    limiterCall.text = textOf(context, decision, headers);
    const message =
      started === undefined
        ? undefined
        : messageOf(routeOf(request), limiterCall, decision, performance.now() - started);
    // A decision in shadow mode is not shown, and earlier decisions were shown already.
    const verdict = decision.shadow
      ? PASS
      : answerTo(reportedOf(carried), Date.now(), showsWait ? waitedMs : undefined);
    if (verdict.kind === "denied" && mayPass) {
      return { ...verdict, conclude: conclusionOf(limiterCall, message) };
    }
    if (message !== undefined) publishDecision(message);
    return verdict;
  }

  return report;
}

/** The prepared text for a decision's limits; undefined if some of the limiter's are missing. */
function textOf<Request>(
  { limits, prepared }: RequestContext<Request>,
  decision: Decision,
  headers: HeaderSettings,
): PolicyText | undefined {
  const { limiter, text, names, parts: internals } = prepared as PreparedLimiter<Request>;
  const isOther =
    limits !== undefined && internals.perCallPolicies.isUsed && !isNamedAs(limiter, decision);
  if (!isOther && !decision.degraded && decision.limits.length === limiter.limits.length) {
    return limits === undefined && !decision.overridden ? text : names;
  }
  // The policy also names the limits that a cost by name left out.
  const before = allLimitsOf(decision);
  if (before === undefined) return undefined;
  const quoted = decision.limits.map(({ name }) => quoteName(name));
  return { policy: policyHeaderFor(before, headers), names: quoted };
}

function messageOf(
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
function conclusionOf(
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
function noteCount(
  owner: string,
  carried: Carrier,
  limiter: LimiterWithInternals,
  count: unknown,
): void {
  for (const limiterCall of entriesWith(carried, [limiter])) {
    limiterCall.count ??= count;
    if (limiterCall.count === count) continue;
    throw invalidOption(
      `${owner}: count would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request under another count; give the same one, or none`,
    );
  }
}

/**
 * Throws for a cost that comes too late, because another guard has already asked this limiter. It is not too late if this guard
 * has a dimension of its own to ask, which only this request lacks a subject for.
 */
function rejectUnreadCost(
  owner: string,
  carried: Carrier,
  limiter: LimiterWithInternals,
  cost: unknown,
): void {
  if (!hasRequestedAll(carried, limiter)) return;
  if (entriesWith(carried, [limiter]).some((limiterCall) => isSameCost(limiterCall.cost, cost)))
    return;
  throw invalidOption(
    `${owner}: cost would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request; give the cost where it is asked first`,
  );
}
