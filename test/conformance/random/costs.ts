import type { CostByName, Decision, Limit } from "@headgate/core";
import { nameOf } from "../oracle/definition.ts";
import type { Random } from "./random.ts";
import { randomCharge, randomCost, randomUnits } from "./steps.ts";

/** A cost by name near the boundaries of the last decision. It leaves some limits out, and does not name some. */
export function randomCostByName(
  random: Random,
  limits: readonly Limit[],
  last: Decision | undefined,
): CostByName {
  return someOf(random, limits, () => randomCost(random, last));
}

/** Units by name, to charge regardless of the units left. */
export function randomChargeByName(
  random: Random,
  limits: readonly Limit[],
  last: Decision | undefined,
): CostByName {
  return someOf(random, limits, () => randomCharge(random, last));
}

/** The real cost of a decision by name, including limits that its cost left out. */
export function randomUnitsByName(
  random: Random,
  limits: readonly Limit[],
  { cost }: Decision,
): CostByName {
  const chosen = limits.filter(() => random.chance(0.7)).map(nameOf);
  return Object.fromEntries(
    chosen.map((name) => {
      const charged = typeof cost === "number" ? cost : (cost[name] ?? 0);
      return [name, randomUnits(random, { cost: charged })];
    }),
  );
}

/** Random units for some limits, of which at least one is charged. */
function someOf(random: Random, limits: readonly Limit[], units: () => number): CostByName {
  const chosen = limits.filter(() => random.chance(0.8)).map(nameOf);
  const entries = chosen.map((name) => [name, random.chance(0.3) ? 0 : units()] as const);
  const isFree = chosen.length === limits.length && entries.every(([, count]) => count === 0);
  return Object.fromEntries(isFree ? [] : random.chance(0.5) ? entries : entries.toReversed());
}
