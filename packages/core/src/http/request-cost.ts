import type { Cost, CostByName } from "../cost.ts";
import { HeadgateError } from "../errors.ts";
import { leavesOut, requireCost, requireUnitsByName, unitsFor } from "../limiter/costs.ts";
import type { CostOptions, Limiter } from "../limiter/limiter.ts";
import { LIMITER } from "../limiter/limiter.ts";
import { isPlainObject } from "../plain-object.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import type { AskedPart } from "./request-state.ts";

/**
 * What every request costs at a limiter, undefined for one unit, which goes without saying. Throws `HEADGATE_INVALID_COST` for a
 * name that none of its limits has, `HEADGATE_INVALID_OPTION` where it takes units ahead.
 */
export function fixedCharge(
  owner: string,
  cost: GuardOptions<never>["cost"],
  limiter: Limiter,
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
  return { cost: requireCost(`${owner}: cost`, units, 1, counted.limits) };
}

/**
 * What a function said that a request costs; the limiter judges it. One that returns nothing must not cost the default. Of a
 * limiter that is extended, and asked alone where the limits beside it are none, the names of those say nothing.
 */
export function chargeOf(units: unknown, limiter: Limiter, isOwn: boolean): CostOptions {
  if (typeof units === "number") return { cost: units };
  if (typeof units !== "object" || units === null) return { cost: Number.NaN };
  const isWhole = isOwn || !isPlainObject(units);
  return { cost: isWhole ? (units as CostByName) : knownOf(units as CostByName, limiter) };
}

/** Whether a limiter decides requests with limits of these options, not only with those that they extend. */
export function isOwnLimiter({ only, tiers }: GuardLimiters, limiter: Limiter): boolean {
  return limiter === only || [...tiers.values()].includes(limiter);
}

/**
 * Whether a cost leaves out all that a request has a subject for, and has not asked before; the limiter refuses one that leaves
 * out more. Throws `HEADGATE_INVALID_COST`.
 */
export function isFree(
  { limiter, groups }: AskedPart,
  cost: Cost | undefined,
  isOwn: boolean,
): boolean {
  if (typeof cost !== "object") return false;
  const { limits } = limiter[LIMITER].counted;
  if (!groups.every((group) => leavesOut(cost, group.limits))) return false;
  if (isOwn && leavesOut(cost, limits)) return false;
  requireUnitsByName("cost", cost, limits);
  return true;
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
function knownOf(cost: CostByName, limiter: Limiter): CostByName {
  const names = limiter.limits.map(({ name }) => name);
  return Object.fromEntries(Object.entries(cost).filter(([name]) => names.includes(name)));
}
