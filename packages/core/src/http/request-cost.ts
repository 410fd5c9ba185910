import type { Cost, CostByName } from "../cost.ts";
import { formatReceived, HeadgateError } from "../errors.ts";
import { requireCost, unitsFor } from "../limiter/costs.ts";
import type { CostOptions, MadeLimiter } from "../limiter/limiter.ts";
import { LIMITER } from "../limiter/limiter.ts";
import { isPlainObject } from "../plain-object.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";

/**
 * What every request costs at a limiter, undefined for one unit, which goes without saying. Throws `HEADGATE_INVALID_COST` for a
 * name that none of its limits has, `HEADGATE_INVALID_OPTION` where it takes units ahead.
 */
export function fixedCharge(
  owner: string,
  cost: GuardOptions<never>["cost"],
  limiter: MadeLimiter,
  isOwn: boolean,
): CostOptions | undefined {
  if (typeof cost === "number" && cost !== 1) return { cost };
  if (typeof cost !== "object") return undefined;
  const { cost: units } = chargeOf(cost, limiter, isOwn);
  if (!isOwn) return { cost: units };
  const { counted, hasLease } = limiter[LIMITER];
  if (hasLease) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: lease cannot be used with a cost by name, because it takes the same units of all limits; leave one of them out`,
    );
  }
  // What the application does to its object later was not checked.
  return { cost: requireCost(`${owner}: cost`, units, counted.limits) };
}

/**
 * Throws `HEADGATE_COST_ABOVE_LIMIT` for a cost of all requests that none of the limiters can ever grant, which would deny every request.
 * A limit of 0 is meant to.
 */
export function rejectImpossibleCost(
  owner: string,
  cost: GuardOptions<never>["cost"],
  limiters: GuardLimiters,
): void {
  if (cost === undefined || typeof cost === "function" || limiters.isPerRequest) return;
  const impossible = limiters.all.map((limiter) => impossibleFor(limiter, cost));
  const [first] = impossible;
  if (first === undefined || impossible.includes(undefined)) return;
  const { name, limit, units } = first;
  throw new HeadgateError(
    "HEADGATE_COST_ABOVE_LIMIT",
    `${owner}: a cost of ${units} would deny every request, because the limit ${formatReceived(name)} grants ${limit} at most; lower the cost, or raise the limit`,
  );
}

/** The first limit that can never grant a cost. */
function impossibleFor(
  limiter: MadeLimiter,
  cost: Cost,
): { readonly name: string; readonly limit: number; readonly units: number } | undefined {
  for (const { name, limit, shape } of limiter[LIMITER].counted.limits) {
    // One number takes one slot.
    const ofAll = typeof cost === "number" && shape.heldFor === undefined ? cost : 1;
    const units = typeof cost === "object" ? (unitsFor(cost, name) ?? 1) : ofAll;
    if (limit > 0 && units > limit) return { name, limit, units };
  }
  return undefined;
}

/**
 * What a function said that a request costs; the limiter judges it. One that returns nothing must not cost the default. Of a
 * limiter that is extended, and asked alone where the limits beside it are none, the names of those say nothing.
 */
export function chargeOf(units: unknown, limiter: MadeLimiter, isOwn: boolean): CostOptions {
  if (typeof units === "number") return { cost: units };
  if (typeof units !== "object" || units === null) return { cost: Number.NaN };
  const isWhole = isOwn || !isPlainObject(units);
  return { cost: isWhole ? (units as CostByName) : knownOf(units as CostByName, limiter) };
}

/** Whether a limiter decides requests with limits of these options, not only with those that they extend. */
export function isOwnLimiter({ only, tiers }: GuardLimiters, limiter: MadeLimiter): boolean {
  return limiter === only || [...tiers.values()].includes(limiter);
}

/** Whether two options say the same. */
export function isSameCost(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every(
    (name) => unitsFor(one as CostByName, name) === unitsFor(other as CostByName, name),
  );
}

/** The part of a cost that names limits of a limiter. */
function knownOf(cost: CostByName, limiter: MadeLimiter): CostByName {
  const names = limiter.limits.map(({ name }) => name);
  return Object.fromEntries(Object.entries(cost).filter(([name]) => names.includes(name)));
}
