import type { CostByName } from "../common/cost.ts";
import { formatKind, invalidOption, invalidValue } from "../common/errors.ts";
import { isPlainObject, isPromiseLike } from "../common/type-guards.ts";
import type { CostOptions } from "../limiter/limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import { backendOf } from "../limiter/store-backend.ts";
import { requireCost } from "../policy/costs.ts";
import type { HttpUse } from "../registry/record.ts";
import type { Verdict } from "./apply-verdict.ts";
import { PASS } from "./apply-verdict.ts";
import type { HttpRequest } from "./client.ts";
import { createConsumeStep } from "./consume-step.ts";
import { createControlStep } from "./control-step.ts";
import type { GuardLimiters, LimiterChoice } from "./guard-limiters.ts";
import { preparePolicyText } from "./headers.ts";
import type { ListedRequest } from "./lists.ts";
import { createListStep, publishListed } from "./lists.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import { createAddressStep, createTrustCheck } from "./proxy-trust.ts";
import { createSubjectReader } from "./read-subjects.ts";
import type { GuardStep, PreparedLimiter, RequestContext } from "./request-context.ts";
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

/**
 * Prepares the limiters of a guard, and lists their use in the registry. Throws `HEADGATE_INVALID_OPTION`,
 * `HEADGATE_INVALID_COST`.
 */
export function prepareLimiters<Request extends HttpRequest>(
  owner: string,
  { all, single, tiers }: GuardLimiters,
  settings: GuardSettings<Request>,
  { name: adapter, warn }: Pick<GuardAdapter<Request>, "name" | "warn">,
): ReadonlyMap<LimiterWithInternals, PreparedLimiter<Request>> {
  const prepared = new Map<LimiterWithInternals, PreparedLimiter<Request>>();
  for (const limiter of all) {
    const internals = limiter[LIMITER];
    const { read, usesAddress, sources } = createSubjectReader(owner, limiter, settings, warn);
    const policyText = preparePolicyText(internals.policy.limits, settings.headers);
    const hasOwnLimits = limiter === single || [...tiers.values()].includes(limiter);
    prepared.set(limiter, {
      limiter,
      internals,
      readSubjects: read,
      usesAddress,
      policyText,
      namesOnly: { ...policyText, policyHeader: undefined },
      hasOwnLimits,
      costOptions: fixedCostOptions(owner, settings.cost, limiter, hasOwnLimits),
    });
    const { store } = internals.policy;
    backendOf(store)?.recordUse(store, limiter.name, describeUse(adapter, sources, settings));
  }
  return prepared;
}

/** The use of a limiter for the registry, without the entries of lists, and without secrets. */
function describeUse(
  adapter: string,
  keys: HttpUse["keys"],
  { missingKey, address, allowList, denyList }: GuardSettings<never>,
): HttpUse {
  return {
    adapter,
    keys,
    missingKey,
    addressHeader: address?.header.toLowerCase(),
    allowList: allowList?.source,
    denyList: denyList?.source,
  };
}

/**
 * The step that determines a request's cost: `costOf` of the adapter, then the option. Undefined if there is neither, or if the
 * option is fixed.
 */
function createCostStep<Request>(
  cost: GuardSettings<Request>["cost"],
  costOf: ((request: Request) => unknown) | undefined,
): GuardStep<Request> | undefined {
  const option = typeof cost === "function" ? cost : undefined;
  if (option === undefined && costOf === undefined) return undefined;

  function put(context: RequestContext<Request>, units: unknown): undefined {
    const { limiter, hasOwnLimits } = context.prepared as NonNullable<typeof context.prepared>;
    context.costOptions = toCostOptions(units, limiter, hasOwnLimits);
  }

  return (context) => {
    const own = costOf?.(context.request);
    // Without a cost of its own, a request has the fixed cost.
    if (own === undefined && option === undefined) return undefined;
    const units: unknown = own === undefined ? option?.(context.request) : own;
    if (!isPromiseLike(units)) return put(context, units);
    return Promise.resolve(units).then((later) => put(context, later));
  };
}

/**
 * The fixed cost of requests at a limiter; undefined for one unit. Throws `HEADGATE_INVALID_COST` for a name that none of its
 * limits has, `HEADGATE_INVALID_OPTION` for a limiter with `lease`.
 */
function fixedCostOptions(
  owner: string,
  cost: GuardSettings<never>["cost"],
  limiter: LimiterWithInternals,
  isOwn: boolean,
): CostOptions | undefined {
  if (typeof cost === "number" && cost !== 1) return { cost };
  if (typeof cost !== "object") return undefined;
  const { cost: units } = toCostOptions(cost, limiter, isOwn);
  if (!isOwn) return { cost: units };
  const { policy, hasLease } = limiter[LIMITER];
  if (hasLease) {
    throw invalidOption(
      `${owner}: lease cannot be used with a cost by name, because it takes the same units of all limits; leave one of them out`,
    );
  }
  // A copy: the application may change its object later.
  return { cost: requireCost(`${owner}: cost`, units, policy.limits) };
}

/**
 * The charge for a value returned by a function; the limiter validates it. A function that returns nothing must not fall back
 * to the default cost. If only the extended limiter is called, because the request has no limits of its own, their names are
 * left out.
 */
function toCostOptions(units: unknown, limiter: LimiterWithInternals, isOwn: boolean): CostOptions {
  if (typeof units === "number") return { cost: units };
  if (typeof units !== "object" || units === null) return { cost: Number.NaN };
  if (isOwn || !isPlainObject(units)) return { cost: units as CostByName };
  const names = limiter.limits.map(({ name }) => name);
  const known = Object.entries(units as CostByName).filter(([name]) => names.includes(name));
  return { cost: Object.fromEntries(known) };
}
