import type { Cost, CostByName, UnitsAs } from "./cost.ts";

/** What became of units that were charged, or of a decision that was settled; by name, where the units were given so. */
export interface Charged<Units extends Cost = number> {
  /** The units that count: those that were charged, and of a settled decision all that it costs. 0 when nothing was done. */
  readonly counted: UnitsAs<Units>;
  /** Units beyond what a counter can hold: 2 * 10^9 of a limit, 1,048,576 entries of a log. Mostly 0. */
  readonly overflow: UnitsAs<Units>;
  /** Whether the store did not get it, or not in every slot of a cluster; `counted` is what counts all the same. */
  readonly degraded: boolean;
}

/** Nothing was charged, so there is nothing to settle. */
export const NOTHING_CHARGED: Charged = { counted: 0, overflow: 0, degraded: false };

/** The same of limits by their names. */
export function nothingCharged(limits: readonly { readonly name: string }[]): Charged<CostByName> {
  const none = Object.fromEntries(limits.map(({ name }) => [name, 0]));
  return { counted: none, overflow: none, degraded: false };
}

/**
 * What became of units that were charged in several places, all of one form: what counts is what all of them could hold that got
 * it.
 */
export function joinCharged<Units extends Cost>(
  charged: readonly Charged<Units>[],
): Charged<Units> {
  const given = largest(
    charged.map(({ counted, overflow }) => combine(counted, overflow, (a, b) => a + b)),
  );
  const overflow = largest(charged.map((one) => one.overflow));
  return {
    counted: combine(given, overflow, (a, b) => a - b) as UnitsAs<Units>,
    overflow: overflow as UnitsAs<Units>,
    degraded: charged.some(({ degraded }) => degraded),
  };
}

/** Units by name or not, each put together with others of the same form; of a name that those lack, with 0. */
function combine(units: Cost, others: Cost, by: (one: number, other: number) => number): Cost {
  if (typeof units === "number") return by(units, others as number);
  const named = others as CostByName;
  return Object.fromEntries(
    Object.entries(units).map(([name, count]) => [name, by(count, named[name] ?? 0)]),
  );
}

function largest(units: readonly Cost[]): Cost {
  const named = units.filter((each) => typeof each !== "number");
  if (named.length === 0) return Math.max(...(units as readonly number[]));
  const most = new Map<string, number>();
  for (const [name, count] of named.flatMap(Object.entries)) {
    most.set(name, Math.max(count, most.get(name) ?? 0));
  }
  return Object.fromEntries(most);
}
