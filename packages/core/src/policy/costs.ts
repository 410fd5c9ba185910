import type { ChargeResult, Cost, CostByName } from "../common/cost.ts";
import { joinChargeResults } from "../common/cost.ts";
import { formatKind, formatNumber, formatReceived, HeadgateError } from "../common/errors.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { Counter } from "../operations/counter.ts";
import { hasCostsByName } from "../operations/counter.ts";

interface NamedLimit {
  readonly name: string;
}

/**
 * The units for the limits of a name, undefined if none are given. They apply to all limits of that name, in any dimension, and in
 * both limiters if one extends the other.
 */
export function unitsFor(units: CostByName, name: string): number | undefined {
  return Object.hasOwn(units, name) ? units[name] : undefined;
}

/** Requires a whole number of units, from 0. Throws `HEADGATE_INVALID_COST`. */
export function requireUnits(what: string, units: unknown): number {
  // Turns -0 into 0.
  if (Number.isSafeInteger(units) && (units as number) >= 0) return (units as number) + 0;
  throw invalidCost(
    `${what} must be a whole number from 0 to 2^53 - 1, got ${formatNumber(units)}`,
  );
}

/** Requires the most units of a call with `upTo`. Throws `HEADGATE_INVALID_COST`. */
export function requireUpTo(upTo: unknown): number {
  if (Number.isSafeInteger(upTo) && (upTo as number) >= 1) return upTo as number;
  throw invalidCost(
    `upTo must be a whole number of units from 1 to 2^53 - 1, got ${formatNumber(upTo)}`,
  );
}

/** Requires units by the names of limits, each a whole number from 0. Throws `HEADGATE_INVALID_COST`. */
function requireUnitsByName(
  what: string,
  units: object | null,
  limits: readonly NamedLimit[],
): CostByName {
  if (!isPlainObject(units)) {
    throw invalidCost(
      `${what} must be a whole number, or an object with one for each limit by its name, got ${formatKind(units)}`,
    );
  }
  const read = Object.keys(units).map((name): [string, number] => {
    if (!limits.some((limit) => limit.name === name)) throw unknownNameError(what, name, limits);
    return [name, requireUnits(`${what} of ${formatReceived(name)}`, units[name])];
  });
  return Object.fromEntries(read);
}

/** Requires a cost: one number, or numbers by the names of limits. Throws `HEADGATE_INVALID_COST`. */
export function requireCost(what: string, cost: unknown, limits: readonly NamedLimit[]): Cost {
  return typeof cost === "object" && cost !== null
    ? requireUnitsByName(what, cost, limits)
    : requireUnits(what, cost);
}

/** Throws `HEADGATE_INVALID_COST` if the decision was charged by name and `units` is one number other than 0. */
export function requireSameForm(decision: { readonly cost: Cost }, units: Cost): void {
  if (typeof units !== "number" || units === 0) return;
  if (typeof Object(decision).cost !== "object") return;
  throw invalidCost(
    `a decision with a cost by name is settled by name, as in { tokens: 731 }, got ${units}`,
  );
}

/** Counters with their cost. */
export interface CostedCounters<C extends Counter> {
  readonly counters: readonly C[];
  /** With a cost by name, the largest cost of any limit. */
  readonly cost: number;
}

/**
 * Assigns a cost to counters. With a cost by name, limits without a number cost 1. A cost of 0 for every limit becomes one number:
 * such a decision charges nothing, and may be settled in either form.
 */
export function assignCosts<C extends Counter>(
  counters: readonly C[],
  cost: Cost,
): CostedCounters<C> {
  if (typeof cost === "number") return { counters, cost };
  const costed = counters.map((counter) => ({
    ...counter,
    costs: counter.limits.map(({ name }) => unitsFor(cost, name) ?? 1),
  }));
  return costed.some(isIncluded)
    ? { counters: costed, cost: largestCost(costed) }
    : { counters, cost: 0 };
}

/** The counters to decide on or charge: all except those that a cost by name excludes, because each of their limits costs 0. */
export function includedCounters<C extends Counter>(counters: readonly C[]): readonly C[] {
  return hasCostsByName(counters) ? counters.filter(isIncluded) : counters;
}

/** The counters that a cost by name excludes. */
export function excludedCounters<C extends Counter>(counters: readonly C[]): readonly C[] {
  return counters.filter((counter) => !isIncluded(counter));
}

function isIncluded({ costs }: Counter): boolean {
  return costs === undefined || costs.some((units) => units > 0);
}

/** The largest cost of any limit. */
export function largestCost(counters: readonly Counter[]): number {
  return Math.max(...costsByLimit(counters).map(([, units]) => units));
}

/** The costs above 0, by the names of the limits. */
export function costByName(counters: readonly Counter[]): CostByName {
  return Object.freeze(Object.fromEntries(costsByLimit(counters).filter(([, units]) => units > 0)));
}

/** The result of a charge, from the units that the store charged: of every limit or, with a cost by name, of each. */
export function readChargeResult(
  counters: readonly Counter[],
  cost: number,
  chargedUnits: readonly number[],
): ChargeResult<Cost> {
  if (!hasCostsByName(counters)) {
    const charged = chargedUnits[0] as number;
    return { charged, overflow: cost - charged, degraded: false };
  }
  const results = costsByLimit(counters).map(([name, units], i) => {
    const charged = chargedUnits[i] as number;
    return {
      units,
      charged: { [name]: charged },
      overflow: { [name]: units - charged },
      degraded: false,
    };
  });
  return joinChargeResults<CostByName>(results.filter(({ units }) => units > 0));
}

function costsByLimit(
  counters: readonly Counter[],
): readonly (readonly [name: string, units: number])[] {
  return counters.flatMap(({ limits, costs = [] }) =>
    limits.map(({ name }, i) => [name, costs[i] as number] as const),
  );
}

function unknownNameError(
  what: string,
  name: string,
  limits: readonly NamedLimit[],
): HeadgateError {
  const names = [...new Set(limits.map((limit) => formatReceived(limit.name)))].join(", ");
  return invalidCost(
    `${what} names ${formatReceived(name)}, but no limit has that name; the limits are ${names}`,
  );
}

function invalidCost(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_COST", message);
}
