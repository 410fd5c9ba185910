import type { ChargeResult, Cost, CostByName } from "../common/cost.ts";
import type { Confirmation } from "../operations/confirm.ts";
import { confirmationsOf } from "../operations/confirm.ts";
import type { Counter } from "../operations/counter.ts";
import { hasCostsByName } from "../operations/counter.ts";
import type { Receipt } from "../operations/refund.ts";
import { partialReceipt } from "../operations/refund.ts";
import { largestCost, unitsFor } from "./costs.ts";

/** The name that stands for all limits when a decision is settled with one number. */
const ALL_LIMITS = "";

/** The units that a limit was charged, and the units that it should be charged. */
interface UnitChange {
  readonly charged: number;
  readonly target: number;
}

/** The plan to settle a decision: the charges, refunds and confirmations that bring its charges to the settled units. */
export interface Settlement {
  /** Whether units are given by the names of limits; otherwise `unitChanges` has one entry for all limits. */
  readonly isByName: boolean;
  readonly unitChanges: ReadonlyMap<string, UnitChange>;
  /** The counters to charge more: with `units` each, or with their own `costs`. `alreadyCharged` are the units charged before. */
  readonly additionalCharge: {
    readonly counters: readonly Counter[];
    units: number;
    alreadyCharged: number;
  };
  /** Refunds for limits that were charged too much. */
  readonly refunds: readonly Receipt[];
  /** Confirmations of the settled units, for counters that block on confirmed charges. */
  readonly confirmations: readonly Confirmation[];
}

/** Plans how to settle charges at some units. `mayBlock` is whether confirmed charges may set a block. */
export function planSettle(
  receipts: readonly Receipt[],
  units: Cost,
  mayBlock: boolean,
): Settlement {
  if (typeof units !== "number") return planByName(receipts, units, mayBlock);
  const charged = receipts.filter(isSettledByNumber);
  const cost = charged[0]?.cost ?? 0;
  const missing = charged.length === 0 ? 0 : Math.max(0, units - cost);
  return {
    isByName: false,
    unitChanges: new Map([
      [ALL_LIMITS, { charged: cost, target: charged.length === 0 ? 0 : units }],
    ]),
    additionalCharge: {
      counters: missing > 0 ? charged.flatMap(({ counters }) => counters) : [],
      units: missing,
      alreadyCharged: cost,
    },
    refunds: units < cost ? charged.map((receipt) => partialReceipt(receipt, units)) : [],
    confirmations: confirmationsOf(charged, units, mayBlock),
  };
}

/** Whether one number settles a receipt: not if a cost by name excluded its counters. */
function isSettledByNumber({ cost, counters }: Receipt): boolean {
  return cost > 0 || !hasCostsByName(counters);
}

/** Plans how to settle charges by the names of limits. Limits without a number keep their charge. */
function planByName(
  receipts: readonly Receipt[],
  units: CostByName,
  mayBlock: boolean,
): Settlement {
  const unitChanges = new Map<string, UnitChange>();
  const undercharged: Counter[] = [];
  const refunds: Receipt[] = [];
  const confirmations: Confirmation[] = [];
  for (const receipt of receipts) {
    const charged = receipt.counters.map((counter) => {
      const costs = counter.costs ?? counter.limits.map(() => receipt.cost);
      const targets = counter.limits.map(({ name }, i) => {
        const chargedUnits = costs[i] as number;
        const target = unitsFor(units, name) ?? chargedUnits;
        unitChanges.set(name, { charged: chargedUnits, target });
        return target;
      });
      return { counter, costs, targets };
    });
    for (const { counter, costs, targets } of charged) {
      const missing = targets.map((target, i) => Math.max(0, target - (costs[i] as number)));
      if (Math.max(...missing) > 0)
        undercharged.push({ ...counter, costs: missing, alreadyCharged: costs });
    }
    const refunded = charged.map(({ counter, costs, targets }) => ({
      ...counter,
      costs: targets.map((target, i) => Math.max(0, (costs[i] as number) - target)),
      alreadyCharged: targets,
    }));
    const cost = largestCost(refunded);
    if (cost > 0) refunds.push({ ...receipt, cost, counters: refunded });
    const counters = charged.map(({ counter, costs, targets }) => ({
      ...counter,
      costs: targets,
      alreadyCharged: costs,
    }));
    confirmations.push(
      ...confirmationsOf([{ ...receipt, counters }], largestCost(counters), mayBlock),
    );
  }
  const additionalCharge = {
    counters: undercharged,
    units: undercharged.length === 0 ? 0 : largestCost(undercharged),
    alreadyCharged: 0,
  };
  return { isByName: true, unitChanges, additionalCharge, refunds, confirmations };
}

/** Whether a settlement has nothing to change in the store. */
export function hasNoChanges({ additionalCharge, refunds, confirmations }: Settlement): boolean {
  return (
    additionalCharge.counters.length === 0 && refunds.length === 0 && confirmations.length === 0
  );
}

/**
 * The result of a settlement. `additional` is the result of its additional charge; `isRefunded` and `isConfirmed` are whether the
 * store received its refunds and confirmations.
 */
export function settlementResult(
  { isByName, unitChanges }: Settlement,
  additional: ChargeResult<Cost> | undefined,
  isRefunded: boolean,
  isConfirmed: boolean,
): ChargeResult<Cost> {
  const added = toUnitsByName(additional?.charged);
  const total = mapUnits(unitChanges, (name, { charged, target }) => {
    if (target > charged) return charged + (unitsFor(added, name) ?? 0);
    return isRefunded ? target : charged;
  });
  const overflowByName = toUnitsByName(additional?.overflow);
  const overflow = mapUnits(unitChanges, (name) => unitsFor(overflowByName, name) ?? 0);
  const degraded = additional?.degraded === true || !isRefunded || !isConfirmed;
  if (isByName) return { charged: total, overflow, degraded };
  return {
    charged: total[ALL_LIMITS] as number,
    overflow: overflow[ALL_LIMITS] as number,
    degraded,
  };
}

/** The result for a decision that could not be settled: its original charge stays. */
export function unsettledResult({ isByName, unitChanges }: Settlement): ChargeResult<Cost> {
  const charged = mapUnits(unitChanges, (_, change) => change.charged);
  const overflow = mapUnits(unitChanges, () => 0);
  if (isByName) return { charged, overflow, degraded: true };
  return { charged: charged[ALL_LIMITS] as number, overflow: 0, degraded: true };
}

function mapUnits(
  unitChanges: Settlement["unitChanges"],
  toUnits: (name: string, change: UnitChange) => number,
): CostByName {
  return Object.fromEntries(
    [...unitChanges].map(([name, change]) => [name, toUnits(name, change)]),
  );
}

function toUnitsByName(units: Cost = {}): CostByName {
  return typeof units === "number" ? { [ALL_LIMITS]: units } : units;
}
