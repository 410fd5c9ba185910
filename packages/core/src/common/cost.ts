/** Units of each limit, by the limit's name. */
export type CostByName = Readonly<Record<string, number>>;

/** Units: one number for every limit, or a number for each limit by name. */
export type Cost = number | CostByName;

/** Units in the same form as a cost: by name, or one number. */
type UnitsFor<C extends Cost> = C extends number ? number : CostByName;

/** The result of a charge, or of settling a decision; by name if the units were given by name. */
export interface ChargeResult<Units extends Cost = number> {
  /** The units that count: those charged, or for a settled decision its total cost. 0 if nothing was done. */
  readonly charged: UnitsFor<Units>;
  /**
   * Units beyond what a counter can hold: 2 * 10^9 of a limit, 1,048,576 entries of a log. Usually
   * 0.
   */
  readonly overflow: UnitsFor<Units>;
  /**
   * Whether the store did not get the charge, or only some of a cluster's hash slots did; `charged` is the part that counts
   * regardless.
   */
  readonly degraded: boolean;
}

/** The result of a charge of nothing, after which there is nothing to settle. */
export const NO_CHARGE: ChargeResult = { charged: 0, overflow: 0, degraded: false };

/** The result of a charge of nothing, by the names of limits. */
export function noChargeByName(
  limits: readonly { readonly name: string }[],
): ChargeResult<CostByName> {
  const none = Object.fromEntries(limits.map(({ name }) => [name, 0]));
  return { charged: none, overflow: none, degraded: false };
}

/**
 * The result of one charge made in several hash slots, all in the same form. It counts the units that every hash slot that
 * received the charge could hold.
 */
export function joinChargeResults<Units extends Cost>(
  results: readonly ChargeResult<Units>[],
): ChargeResult<Units> {
  const given = largest(
    results.map(({ charged, overflow }) => combine(charged, overflow, (a, b) => a + b)),
  );
  const overflow = largest(results.map((one) => one.overflow));
  return {
    charged: combine(given, overflow, (a, b) => a - b) as UnitsFor<Units>,
    overflow: overflow as UnitsFor<Units>,
    degraded: results.some(({ degraded }) => degraded),
  };
}

/** Combines two unit counts of the same form; a name missing from `others` counts as 0. */
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
