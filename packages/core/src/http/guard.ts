import type { Awaitable } from "../common/type-guards.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import type { InFlight } from "../pipeline/in-flight.ts";
import { createRequestsInFlight, endCall } from "../pipeline/in-flight.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { Client, HttpRequest } from "./client.ts";
import type { ResponseCounter } from "./count-option.ts";
import { countsAll, createResponseCounter } from "./count-option.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardAdapter, GuardPlan } from "./guard-plan.ts";
import { createGuardPlan, prepareLimiters } from "./guard-plan.ts";
import {
  rejectBlockConflicts,
  rejectImpossibleCost,
  rejectUnusedKeys,
} from "./option-conflicts.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import type { GuardStep, PreparedLimiter, RequestContext } from "./request-context.ts";
import type { RequestDecision } from "./request-decision.ts";
import { decisionOf, requireResettable, resetClient, takeUnsettled } from "./request-decision.ts";

/** Decides requests of one framework under one set of options. */
export interface Guard<Request> {
  /**
   * As `check` of `HttpGuard`, but returns at once if nothing is awaited. `reply` is the framework's own response, for `count`. Never
   * throws; rejects with an error for the framework.
   */
  check(request: Request, client: Client, response?: object, reply?: object): Awaitable<Verdict>;
  /** Whether `check` needs a response, for `count`, `wait` or slots. */
  readonly needsResponse: boolean;
  /**
   * Ends all waits with a denial, and lets no request wait from now on. Resolves when the requests in progress are decided, or
   * after a second if a callback of the application does not settle.
   */
  drain(): Promise<void>;
  /**
   * Returns this limiter's decision on a request, whatever other limiters decided it, too; undefined if the limiter was not
   * called, for example because of `skip`.
   */
  decisionOf(request: object): RequestDecision | undefined;
  /**
   * Deletes the usage and blocks of a request's client at this limiter, in the dimensions of the option `resetDimensions`: after
   * a good login, for example. Resolves with true if something was deleted; with false also while the store is unavailable.
   * Rejects with `HEADGATE_INVALID_OPTION` without that option, and otherwise with the same errors as `limiter.reset`.
   */
  resetClient(request: object): Promise<boolean>;
}

/** Creates a guard. `owner` is its name in errors. Throws `HEADGATE_INVALID_OPTION`, and then closes the
 * limiters, so that their names are free again.
 */
export function createGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  settings: GuardSettings<Request>,
  adapter: GuardAdapter<Request>,
): Guard<Request> {
  try {
    rejectUnusedKeys(owner, settings.ownKey, limiters.all);
    rejectBlockConflicts(owner, limiters.all, settings);
    rejectImpossibleCost(owner, settings.cost, limiters);
    requireResettable(owner, settings.ownResetDimensions, limiters.all);
    return prepareGuard(owner, limiters, settings, adapter);
  } catch (error) {
    void limiters.close();
    throw error;
  }
}

function prepareGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  settings: GuardSettings<Request>,
  adapter: GuardAdapter<Request>,
): Guard<Request> {
  const { all, single, choose } = limiters;
  const { count: option, waitMs } = settings;
  const closing = new AbortController();
  const prepared = prepareLimiters(owner, limiters, settings, adapter);
  const plan = createGuardPlan(owner, limiters, settings, adapter, prepared, closing.signal);
  const isPerRequest = choose !== undefined && single !== undefined;
  const firstLimiter =
    choose === undefined && single !== undefined ? prepared.get(single) : undefined;
  const count = createResponseCounter(
    option,
    (request: Request) => takeUnsettled(request, all, option === undefined),
    // The limits of a request may block on confirmed charges even if the base does not.
    all.some((limiter) => limiter[LIMITER].policy.blocksOnSettle) ||
      (isPerRequest && !countsAll(option)),
    adapter.warn,
  );
  const inFlight = single?.[LIMITER].requestsInFlight ?? createRequestsInFlight();
  return {
    check: createCheck(limiters, plan, firstLimiter, count, inFlight, adapter.unwrapRequest),
    needsResponse:
      count !== undefined ||
      waitMs !== undefined ||
      all.some((limiter) => limiter[LIMITER].policy.hasSlots),
    async drain() {
      closing.abort();
      await inFlight.allDone();
    },
    decisionOf: (request) => decisionOf(request, all),
    resetClient: (request) => resetClient(owner, request, all, settings.resetDimensions),
  };
}

/** `firstLimiter` is the limiter of every request, if there is a single one. */
function createCheck<Request extends HttpRequest>(
  { all, single }: GuardLimiters,
  plan: GuardPlan<Request>,
  firstLimiter: PreparedLimiter<Request> | undefined,
  count: ResponseCounter<Request> | undefined,
  inFlight: InFlight,
  unwrapRequest: GuardAdapter<Request>["unwrapRequest"],
): Guard<Request>["check"] {
  const controlCache = all[0]?.[LIMITER].control?.cache;

  return function check(
    request: Request,
    frameworkClient: Client,
    response?: object,
    reply = response,
  ): Awaitable<Verdict> {
    const calls = inFlight.current;
    calls.count += 1;
    const context: RequestContext<Request> = {
      request,
      httpRequest: unwrapRequest === undefined ? request : unwrapRequest(request),
      response,
      frameworkClient,
      client: frameworkClient,
      // A request that arrives before `close` is decided, however long its key takes.
      isClosed: single === undefined ? all.some(isClosed) : single[LIMITER].isClosed,
      prepared: firstLimiter,
      limits: undefined,
      subjects: undefined,
      costOptions: firstLimiter?.costOptions,
      limiterCall: undefined,
      startedAt: undefined,
      controlWaitMs: 0,
      isControlFresh: true,
    };
    let decided: Awaitable<Verdict>;
    try {
      // Most requests find no deny list, and a control record that is not due: they skip the step.
      const skipsControl =
        controlCache === undefined ||
        (controlCache.record.denyList === undefined &&
          performance.now() < controlCache.refreshDueAt);
      decided = runPlan(skipsControl ? plan.withoutControl : plan.full, context, 0);
    } catch (error) {
      decided = Promise.reject(error as Error);
    }
    count?.(decided, request, reply, response as object);
    if ("then" in decided) {
      const end = endCall.bind(undefined, calls);
      decided.then(end, end);
    } else {
      calls.count -= 1;
      if (calls.count === 0) calls.onDone?.();
    }
    return decided;
  };
}

function isClosed(limiter: LimiterWithInternals): boolean {
  return limiter[LIMITER].isClosed;
}

/** Runs a plan until a step returns a verdict. The last step always does. */
function runPlan<Request>(
  plan: readonly GuardStep<Request>[],
  context: RequestContext<Request>,
  start: number,
): Awaitable<Verdict> {
  const last = plan.length - 1;
  for (let i = start; i < last; i += 1) {
    const verdict = plan[i]?.(context);
    if (verdict === undefined) continue;
    if (!("then" in verdict)) return verdict;
    context.isControlFresh = false;
    return verdict.then((later) => later ?? runPlan(plan, context, i + 1));
  }
  return (plan[last] as GuardStep<Request>)(context) as Awaitable<Verdict>;
}
