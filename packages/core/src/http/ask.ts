import type { Awaitable } from "../base/awaitable.ts";
import { isPromiseLike } from "../base/awaitable.ts";
import type { Decision } from "../base/decision.ts";
import { codeOf, formatReceived, HeadgateError } from "../base/errors.ts";
import { limitsBefore, placesOf } from "../counting/counted-decision.ts";
import type { Learned, MadeLimiter } from "../limiter/limiter.ts";
import { LIMITER } from "../limiter/limiter.ts";
import type { DecisionMessage } from "../limiter/published-decision.ts";
import { decisions, publishDecision, subjectsIn } from "../limiter/published-decision.ts";
import { answerTo, formatPolicyHeader, quoteName } from "./answer.ts";
import { holdPlaces, watchLeaving } from "./follow-response.ts";
import type { GuardSettings } from "./parse-guard.ts";
import { isSameCost } from "./request-cost.ts";
import type { Entry } from "./request-record.ts";
import { entriesWith, forgetEntry, hasAskedAll, reportedOf, takeEntry } from "./request-record.ts";
import type { RequestSubjects } from "./subject.ts";
import type { PolicyText, Verdict } from "./verdict.ts";
import { LEFT, PASS } from "./verdict.ts";
import type { Prepared, Step, Visit } from "./visit.ts";

/** For most requests, which wait for nothing. */
const LEARNED: Learned = { waitedMs: 0, isFresh: true };

/**
 * The last step: asks the limiter, and writes the answer. `ending` aborts when all waits must end; `routeOf` names a
 * request's route.
 */
export function createAskStep<Request extends object>(
  owner: string,
  settings: GuardSettings<Request>,
  ending: AbortSignal,
  routeOf: (request: Request) => string | undefined,
): Step<Request> {
  const { count, cost, waitMs, headers, missing } = settings;
  const hasAll = missing !== "skip";
  const showsWait = headers.legacy || headers.standard;
  /** Whether the application may let a denied request on. */
  const mayPass = typeof settings.onDenied === "function";

  function ask(visit: Visit<Request>): Awaitable<Verdict> {
    const { request, limits } = visit;
    const { limiter, parts } = visit.prepared as Prepared<Request>;
    if (count !== undefined) noteCount(owner, request, limiter, count);
    const entry = takeEntry(request, limiter, visit.subjects as RequestSubjects, hasAll, settings);
    if (entry === undefined) {
      if (cost !== undefined) rejectUnreadCost(owner, request, limiter, cost);
      return PASS;
    }
    const started = decisions.hasSubscribers ? performance.now() : undefined;
    if (waitMs !== undefined) return askInTurn(visit, entry, waitMs, started);
    let decided: Awaitable<Decision>;
    try {
      decided = parts.consumeIn(
        entry.groups,
        entry.subjects,
        limits === undefined ? visit.charge : { ...visit.charge, limits },
        visit.isFresh && visit.controlMs === 0
          ? LEARNED
          : { waitedMs: visit.controlMs, isFresh: visit.isFresh },
      );
    } catch (error) {
      throw undo(visit, entry, error);
    }
    return isPromiseLike(decided)
      ? reportLater(visit, entry, started, decided)
      : report(visit, entry, started, decided);
  }

  async function reportLater(
    visit: Visit<Request>,
    entry: Entry,
    started: number | undefined,
    decided: Promise<Decision>,
  ): Promise<Verdict> {
    let decision: Decision;
    try {
      decision = await decided;
    } catch (error) {
      throw undo(visit, entry, error);
    }
    return report(visit, entry, started, decision);
  }

  /** A request that is denied waits in line. */
  async function askInTurn(
    visit: Visit<Request>,
    entry: Entry,
    timeoutMs: number,
    started: number | undefined,
  ): Promise<Verdict> {
    const { limits, charge, client, response } = visit;
    const { parts } = visit.prepared as Prepared<Request>;
    const options = limits === undefined ? charge : { ...charge, limits };
    const line = {
      timeoutMs,
      watchLeaving: () => watchLeaving(response as object, client, ending),
    };
    let turn: Awaited<ReturnType<typeof parts.consumeInTurn>>;
    try {
      turn = await parts.consumeInTurn(entry.groups, entry.subjects, options, line);
    } catch (error) {
      throw undo(visit, entry, error);
    }
    return turn === undefined ? LEFT : report(visit, entry, started, turn.decision, turn.waitedMs);
  }

  function undo({ request, limits }: Visit<Request>, entry: Entry, error: unknown): unknown {
    forgetEntry(request, entry);
    return limits === undefined ? error : ofRequest(owner, error);
  }

  function report(
    visit: Visit<Request>,
    entry: Entry,
    started: number | undefined,
    decision: Decision,
    waitedMs?: number,
  ): Verdict {
    const { request, response } = visit;
    const { parts } = visit.prepared as Prepared<Request>;
    parts.usage?.note(subjectsIn(entry), decision);
    if (parts.counted.hasPlaces && response !== undefined) {
      const places = placesOf(decision, parts.counted);
      if (places !== undefined) holdPlaces(places, response);
    }
    entry.decision = decision;
    entry.text = textOf(visit, decision);
    const message =
      started === undefined
        ? undefined
        : messageOf(routeOf(request), entry, decision, performance.now() - started);
    // A decision in shadow mode is not shown, and the others' decisions already were.
    const verdict = decision.shadow
      ? PASS
      : answerTo(reportedOf(request), Date.now(), showsWait ? waitedMs : undefined);
    if (verdict.kind === "denied" && mayPass) {
      return { ...verdict, conclude: conclusionOf(entry, message) };
    }
    if (message !== undefined) publishDecision(message);
    return verdict;
  }

  return ask;
}

/** The prepared text of a decision's limits; undefined if they are only a share of them, or some lack a key. */
function textOf<Request>(
  { limits, prepared }: Visit<Request>,
  decision: Decision,
): PolicyText | undefined {
  const { limiter, text, names } = prepared as Prepared<Request>;
  if (!decision.degraded && decision.limits.length === limiter.limits.length) {
    return limits === undefined && !decision.overridden ? text : names;
  }
  // The policy also names the limits that a cost by name left out.
  const before = limitsBefore(decision);
  if (before === undefined) return undefined;
  const quoted = decision.limits.map(({ name }) => quoteName(name));
  return { policy: formatPolicyHeader(before), names: quoted };
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

/** Notes once whether the application let a denied request on, and publishes the decision if it was heard. */
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

/** A count comes in time after the request was charged, too. Of two that differ the second would be ignored. */
function noteCount(owner: string, request: object, limiter: MadeLimiter, count: unknown): void {
  for (const entry of entriesWith(request, [limiter])) {
    entry.count ??= count;
    if (entry.count === count) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: count would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request under another count; give the same one, or none`,
    );
  }
}

/**
 * Throws for a cost that comes too late, because another guard has asked this limiter. It is not too late if this guard
 * has a dimension of its own to ask, for which only this request lacks a subject.
 */
function rejectUnreadCost(
  owner: string,
  request: object,
  limiter: MadeLimiter,
  cost: unknown,
): void {
  if (!hasAskedAll(request, limiter)) return;
  if (entriesWith(request, [limiter]).some((entry) => isSameCost(entry.cost, cost))) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: cost would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request; give the cost where it is asked first`,
  );
}

/** Leaves out the numbers of a customer, which an error handler may send to clients: they are in the cause. */
function ofRequest(owner: string, error: unknown): unknown {
  if (codeOf(error) !== "HEADGATE_INVALID_LIMIT") return error;
  return new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request must be those of its base with other numbers; the cause says how they differ`,
    { cause: error },
  );
}
