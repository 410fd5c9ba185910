import type { CostByName, Decision, Limit } from "@headgate/core";
import { nameOf } from "../oracle/definition.ts";
import type { Random } from "./random.ts";
import { randomCharge, randomCost, randomUnits } from "./steps.ts";

/** A cost by name near what the last answer makes interesting: some limits left out, some not chosen. */
export function randomCostByName(
  random: Random,
  limits: readonly Limit[],
  last: Decision | undefined,
): CostByName {
  return someOf(random, limits, () => randomCost(random, last));
}

/** Units to charge whatever is left, by name. */
export function randomChargeByName(
  random: Random,
  limits: readonly Limit[],
  last: Decision | undefined,
): CostByName {
  return someOf(random, limits, () => randomCharge(random, last));
}

/** What a decision turns out to have cost, by name: also of limits that it left out. */
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

/** One limit at least is asked. */
function someOf(random: Random, limits: readonly Limit[], units: () => number): CostByName {
  const chosen = limits.filter(() => random.chance(0.8)).map(nameOf);
  const entries = chosen.map((name) => [name, random.chance(0.3) ? 0 : units()] as const);
  const isFree = chosen.length === limits.length && entries.every(([, count]) => count === 0);
  return Object.fromEntries(isFree ? [] : random.chance(0.5) ? entries : entries.toReversed());
}
