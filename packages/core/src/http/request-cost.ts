import type { CostByName } from "../common/cost.ts";
import { invalidOption } from "../common/errors.ts";
import { isPlainObject, isPromiseLike } from "../common/type-guards.ts";
import type { CostOptions } from "../limiter/limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import { requireCost, unitsFor } from "../policy/costs.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import type { GuardStep, RequestContext } from "./request-context.ts";

/**
 * The step that determines a request's cost: `costOf` of the adapter, then the option. Undefined if there is neither, or if the
 * option is fixed.
 */
export function createCostStep<Request>(
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
export function fixedCostOptions(
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

/** Whether two costs are equal for every limit. */
export function isSameCost(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every(
    (name) => unitsFor(one as CostByName, name) === unitsFor(other as CostByName, name),
  );
}
