import type { Awaitable } from "../common/awaitable.ts";
import type { Decision } from "../common/decision.ts";
import { formatReceived, invalidOption } from "../common/errors.ts";
import type { ConsumeOptions } from "../limiter/limiter.ts";
import type { Learned, MadeLimiter } from "../limiter/limiter-parts.ts";
import { LIMITER } from "../limiter/limiter-parts.ts";
import type { DecisionMessage } from "../limiter/published-decision.ts";
import { decisions, publishDecision, subjectsIn } from "../limiter/published-decision.ts";
import { limitsBefore, slotsOf } from "../policy/limiter-decision.ts";
import { answerTo, policyHeaderFor, quoteName } from "./answer.ts";
import { holdPlaces, watchLeaving } from "./follow-response.ts";
import {
  asksNobody,
  holdOwnPlaces,
  isNamedAs,
  ofRequest,
  rejectBlocksInTurn,
} from "./own-limits.ts";
import type { GuardSettings } from "./parse-guard.ts";
import { isSameCost } from "./request-cost.ts";
import type { Carrier, Entry } from "./request-record.ts";
import { entriesWith, forgetEntry, hasAskedAll, reportedOf, takeEntry } from "./request-record.ts";
import type { RequestSubjects } from "./subject.ts";
import type { HeaderSettings, PolicyText, Verdict } from "./verdict.ts";
import { LEFT, PASS } from "./verdict.ts";
import type { Prepared, Step, Visit } from "./visit.ts";

/** For most requests, which do not wait for anything. */
const LEARNED: Learned = { waitedMs: 0, isFresh: true };

/**
 * The last step: asks the limiter and writes the response headers. `ending` aborts when all waits must end; `routeOf` returns a
 * request's route.
 */
export function createAskStep<Request extends object>(
  owner: string,
  settings: GuardSettings<Request>,
  ending: AbortSignal,
  routeOf: (request: Request) => string | undefined,
): Step<Request> {
  const { count, cost, waitMs, missing } = settings;
  const hasAll = missing !== "skip";
  const report = createReport(owner, settings, routeOf);
  const askInTurn =
    waitMs === undefined ? undefined : createTurnStep(owner, waitMs, ending, report);

  function ask(visit: Visit<Request>): Awaitable<Verdict> {
    const { carried } = visit;
    const { limiter, parts } = visit.prepared as Prepared<Request>;
    if (count !== undefined) noteCount(owner, carried, limiter, count);
    const entry = takeEntry(carried, limiter, visit.subjects as RequestSubjects, hasAll, settings);
    if (entry === undefined) {
      if (cost !== undefined) rejectUnreadCost(owner, carried, limiter, cost);
      return PASS;
    }
    visit.entry = entry;
    if (decisions.hasSubscribers) visit.started = performance.now();
    const { charge, limits } = visit;
    const options = limits === undefined ? charge : { ...charge, limits };
    if (askInTurn !== undefined) return askInTurn(visit, options);
    let decided: Awaitable<Decision>;
    try {
      decided = parts.consumeIn(
        entry.groups,
        entry.subjects,
        options,
        visit.isFresh && visit.controlMs === 0
          ? LEARNED
          : { waitedMs: visit.controlMs, isFresh: visit.isFresh },
      );
    } catch (error) {
      return fail(owner, visit, error);
    }
    if (!("then" in decided)) return report(visit, decided);
    return decided.then(
      (decision) => report(visit, decision),
      (error) => fail(owner, visit, error),
    );
  }

  return ask;
}

/** Writes the answer to a request by the limiter's decision on it. */
type Report<Request> = (visit: Visit<Request>, decision: Decision, waitedMs?: number) => Verdict;

/** Asks for a request that waits in line if it is denied. */
function createTurnStep<Request extends object>(
  owner: string,
  timeoutMs: number,
  ending: AbortSignal,
  report: Report<Request>,
): (visit: Visit<Request>, options: ConsumeOptions | undefined) => Promise<Verdict> {
  return async (visit, options) => {
    const { client, response } = visit;
    const { parts } = visit.prepared as Prepared<Request>;
    const { groups, subjects } = visit.entry as Entry;
    if (visit.limits !== undefined) rejectBlocksInTurn(owner, visit);
    const line = {
      timeoutMs,
      watchLeaving: () => watchLeaving(response as object, client, ending),
    };
    let turn: Awaited<ReturnType<typeof parts.consumeInTurn>>;
    try {
      turn = await parts.consumeInTurn(groups, subjects, options, line);
    } catch (error) {
      return fail(owner, visit, error);
    }
    return turn === undefined ? LEFT : report(visit, turn.decision, turn.waitedMs);
  };
}

/** Removes an undecided entry. Returns `PASS` if there was nothing to ask, and throws otherwise. */
function fail<Request extends object>(
  owner: string,
  visit: Visit<Request>,
  error: unknown,
): Verdict {
  const { carried, limits, entry } = visit;
  forgetEntry(carried, entry as Entry);
  if (asksNobody(visit, error)) return PASS;
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

  function report(visit: Visit<Request>, decision: Decision, waitedMs?: number): Verdict {
    const { request, carried, response, limits, started } = visit;
    const { parts } = visit.prepared as Prepared<Request>;
    const entry = visit.entry as Entry;
    parts.usage?.note(subjectsIn(entry), decision);
    if (parts.counted.hasSlots && response !== undefined) {
      const places = slotsOf(decision, parts.counted);
      if (places !== undefined) holdPlaces(places, response);
    } else if (limits !== undefined && parts.shapes.hasPlaces) {
      holdOwnPlaces(owner, slotsOf(decision, parts.counted), response);
    }
    entry.decision = decision;
    entry.text = textOf(visit, decision, headers);
    const message =
      started === undefined
        ? undefined
        : messageOf(routeOf(request), entry, decision, performance.now() - started);
    // A decision in shadow mode is not shown, and earlier decisions were shown already.
    const verdict = decision.shadow
      ? PASS
      : answerTo(reportedOf(carried), Date.now(), showsWait ? waitedMs : undefined);
    if (verdict.kind === "denied" && mayPass) {
      return { ...verdict, conclude: conclusionOf(entry, message) };
    }
    if (message !== undefined) publishDecision(message);
    return verdict;
  }

  return report;
}

/** The prepared text for a decision's limits; undefined if some of the limiter's are missing. */
function textOf<Request>(
  { limits, prepared }: Visit<Request>,
  decision: Decision,
  headers: HeaderSettings,
): PolicyText | undefined {
  const { limiter, text, names, parts } = prepared as Prepared<Request>;
  const isOther = limits !== undefined && parts.shapes.isUsed && !isNamedAs(limiter, decision);
  if (!isOther && !decision.degraded && decision.limits.length === limiter.limits.length) {
    return limits === undefined && !decision.overridden ? text : names;
  }
  // The policy also names the limits that a cost by name left out.
  const before = limitsBefore(decision);
  if (before === undefined) return undefined;
  const quoted = decision.limits.map(({ name }) => quoteName(name));
  return { policy: policyHeaderFor(before, headers), names: quoted };
}

function messageOf(
  route: string | undefined,
  entry: Entry,
  decision: Decision,
  durationMs: number,
): DecisionMessage {
  const { limiter } = entry;
  const { plugin } = limiter[LIMITER].counted.reported;
  const subject = subjectsIn(entry);
  return { limiter: limiter.name, plugin, route, subject, decision, durationMs };
}

/**
 * Records once whether the application let a denied request through, and publishes the decision if the channel has subscribers.
 */
function conclusionOf(
  entry: Entry,
  message: DecisionMessage | undefined,
): (passed: boolean) => void {
  let isOver = false;
  return (passed) => {
    if (isOver) return;
    isOver = true;
    if (passed) entry.passed = true;
    if (message !== undefined) publishDecision(passed ? { ...message, passed } : message);
  };
}

/** A `count` option also works after the request was charged. If there are two different ones, the second would be ignored. */
function noteCount(owner: string, carried: Carrier, limiter: MadeLimiter, count: unknown): void {
  for (const entry of entriesWith(carried, [limiter])) {
    entry.count ??= count;
    if (entry.count === count) continue;
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
  limiter: MadeLimiter,
  cost: unknown,
): void {
  if (!hasAskedAll(carried, limiter)) return;
  if (entriesWith(carried, [limiter]).some((entry) => isSameCost(entry.cost, cost))) return;
  throw invalidOption(
    `${owner}: cost would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request; give the cost where it is asked first`,
  );
}
