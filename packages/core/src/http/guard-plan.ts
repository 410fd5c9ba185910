import { formatKind, invalidValue } from "../common/errors.ts";
import { isPromiseLike } from "../common/type-guards.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import { createAddressStep } from "./address-option.ts";
import type { HttpRequest } from "./client.ts";
import { createTrustCheck } from "./client.ts";
import { createConsumeStep } from "./consume-step.ts";
import { createControlStep } from "./control-step.ts";
import type { GuardLimiters, LimiterChoice } from "./guard-limiters.ts";
import type { ListedRequest } from "./lists.ts";
import { createListStep, publishListed } from "./lists.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import type { GuardStep, PreparedLimiter, RequestContext } from "./request-context.ts";
import { createCostStep } from "./request-cost.ts";
import type { Verdict } from "./verdict.ts";
import { PASS } from "./verdict.ts";
import type { Warn } from "./warn.ts";

/** The framework of a guard. */
export interface GuardAdapter<Request> {
  /** Its name in the registry. */
  readonly name: string;
  readonly warn: Warn;
  /** The method and the configured route of a request, such as `GET /users/:id`; undefined if there is none. */
  routeOf(request: Request): string | undefined;
  /**
   * The cost of a request itself, for example from a decorator, which takes precedence over the option `cost`; undefined to use
   * the option.
   */
  readonly costOf?: ((request: Request) => unknown) | undefined;
  /** Returns the HTTP request that the framework's object wraps, for a framework that has such objects. */
  readonly unwrapRequest?: ((request: Request) => HttpRequest) | undefined;
}

/** The steps of a guard. Both variants end with the step that calls the limiter. */
export interface GuardPlan<Request> {
  /** All steps. */
  readonly full: readonly GuardStep<Request>[];
  /** Without the step that reads the control record, for a record that is not due and has no deny list. */
  readonly withoutControl: readonly GuardStep<Request>[];
}

/** The steps that these options need, in order. All limiters of a guard are on one store. */
export function createGuardPlan<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  settings: GuardSettings<Request>,
  { warn, routeOf, costOf }: GuardAdapter<Request>,
  prepared: ReadonlyMap<LimiterWithInternals, PreparedLimiter<Request>>,
  closing: AbortSignal,
): GuardPlan<Request> {
  const { address, allowList, denyList, skip, cost } = settings;
  const { all, choose } = limiters;
  const firstInternals = all[0]?.[LIMITER];
  const only = choose === undefined ? [...prepared.values()][0] : undefined;
  const usesAddress = [allowList, denyList, ...prepared.values()].some((one) => one?.usesAddress);
  const trust = createTrustCheck(warn);
  const checkTrust = usesAddress ? trust : undefined;

  /** With tiers, the limiter of a listed request is unknown. */
  function reportListed(request: Request, list: ListedRequest["list"]): void {
    publishListed(() => ({
      limiter: limiters.single?.name ?? settings.name ?? "limiter",
      plugin: firstInternals?.policy.labels.plugin,
      route: routeOf(request),
      list,
    }));
  }

  const before = stepsOf<Request>([
    address === undefined ? checkTrust : createAddressStep(address, checkTrust, warn),
    createListStep(owner, settings, reportListed),
  ]);
  const control =
    firstInternals &&
    createControlStep(firstInternals, usesAddress ? undefined : trust, reportListed);
  const after = stepsOf<Request>([
    createSkipStep(owner, skip),
    createChoiceStep(choose, prepared),
    createSubjectStep(only),
    createCostStep(cost, costOf),
    createConsumeStep(owner, settings, closing, routeOf),
  ]);
  const withoutControl = [...before, ...after];
  return {
    withoutControl,
    full: control === undefined ? withoutControl : [...before, control, ...after],
  };
}

function stepsOf<Request>(
  steps: readonly (GuardStep<Request> | undefined)[],
): readonly GuardStep<Request>[] {
  return steps.filter((step) => step !== undefined);
}

function createSkipStep<Request>(
  owner: string,
  skip: GuardSettings<Request>["skip"],
): GuardStep<Request> | undefined {
  if (skip === undefined) return undefined;
  const read = (skipped: unknown): Verdict | undefined => {
    if (skipped === true) return PASS;
    if (skipped === false || skipped === undefined) return undefined;
    throw invalidValue(`${owner}: skip must return true or false`, skipped, formatKind);
  };
  return ({ request }) => {
    const skipped: unknown = skip(request);
    return isPromiseLike(skipped) ? Promise.resolve(skipped).then(read) : read(skipped);
  };
}

function createChoiceStep<Request>(
  choose: GuardLimiters["choose"],
  prepared: ReadonlyMap<LimiterWithInternals, PreparedLimiter<Request>>,
): GuardStep<Request> | undefined {
  if (choose === undefined) return undefined;
  const put = (
    context: RequestContext<Request>,
    choice: LimiterChoice | null,
  ): Verdict | undefined => {
    if (choice === null) return PASS;
    context.prepared = prepared.get(choice.limiter);
    context.costOptions = context.prepared?.costOptions;
    context.limits = choice.limits;
    return undefined;
  };
  return (context) => {
    const choice = choose(context.request);
    return isPromiseLike(choice)
      ? choice.then((later) => put(context, later))
      : put(context, choice);
  };
}

/** If the limiter depends on the request, so do its keys. */
function createSubjectStep<Request>(
  only: PreparedLimiter<Request> | undefined,
): GuardStep<Request> {
  return only?.readSubjects ?? ((context) => context.prepared?.readSubjects(context));
}
