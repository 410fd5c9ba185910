import type { ChargeResult } from "../common/charge-result.ts";
import type { Cost, CostByName } from "../common/cost.ts";
import type { Confirmation } from "../operations/confirm.ts";
import { confirmationsOf } from "../operations/confirm.ts";
import type { Counter } from "../operations/counter.ts";
import { hasCostsByName } from "../operations/counter.ts";
import type { Receipt } from "../operations/refund.ts";
import { partialReceipt } from "../operations/refund.ts";
import { largestCost, unitsFor } from "./costs.ts";

/** The name used when a settle has one number. */
const ALL_LIMITS = "";

/** The units that a limit was charged, and the units it should be charged. */
interface UnitChange {
  readonly charged: number;
  readonly target: number;
}

/** The changes that a settle makes. */
export interface Settlement {
  /** Whether units are given by the names of limits; otherwise there is one name for all. */
  readonly isByName: boolean;
  readonly unitChanges: ReadonlyMap<string, UnitChange>;
  /** Additional charges: the counters, with `units` each or their own `costs`, and the units charged before. */
  readonly additionalCharge: {
    readonly counters: readonly Counter[];
    units: number;
    alreadyCharged: number;
  };
  /** Refunds for limits that were charged too much. */
  readonly refunds: readonly Receipt[];
  /** Confirmed charges, for counters that block on them. */
  readonly confirmations: readonly Confirmation[];
}

/** Plans the changes that bring charges to this many units. `mayBlock`: whether confirmed charges may set a block. */
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

/** Whether one number settles a receipt: not if its counters were left out by a cost by name. */
function isSettledByNumber({ cost, counters }: Receipt): boolean {
  return cost > 0 || !hasCostsByName(counters);
}

/** Limits that are not named keep their charge. */
function planByName(
  receipts: readonly Receipt[],
  units: CostByName,
  mayBlock: boolean,
): Settlement {
  const named = new Map<string, UnitChange>();
  const more: Counter[] = [];
  const refunds: Receipt[] = [];
  const confirmations: Confirmation[] = [];
  for (const receipt of receipts) {
    const charged = receipt.counters.map((counter) => {
      const costs = counter.costs ?? counter.limits.map(() => receipt.cost);
      const wants = counter.limits.map(({ name }, i) => {
        const was = costs[i] as number;
        const target = unitsFor(units, name) ?? was;
        named.set(name, { charged: was, target });
        return target;
      });
      return { counter, costs, wants };
    });
    for (const { counter, costs, wants } of charged) {
      const missing = wants.map((count, i) => Math.max(0, count - (costs[i] as number)));
      if (Math.max(...missing) > 0)
        more.push({ ...counter, costs: missing, alreadyCharged: costs });
    }
    const given = charged.map(({ counter, costs, wants }) => ({
      ...counter,
      costs: wants.map((count, i) => Math.max(0, (costs[i] as number) - count)),
      alreadyCharged: wants,
    }));
    const cost = largestCost(given);
    if (cost > 0) refunds.push({ ...receipt, cost, counters: given });
    const counters = charged.map(({ counter, costs, wants }) => ({
      ...counter,
      costs: wants,
      alreadyCharged: costs,
    }));
    confirmations.push(
      ...confirmationsOf([{ ...receipt, counters }], largestCost(counters), mayBlock),
    );
  }
  const charges = {
    counters: more,
    units: more.length === 0 ? 0 : largestCost(more),
    alreadyCharged: 0,
  };
  return { isByName: true, unitChanges: named, additionalCharge: charges, refunds, confirmations };
}

/** Whether a settlement changes nothing. */
export function hasNoChanges({ additionalCharge, refunds, confirmations }: Settlement): boolean {
  return (
    additionalCharge.counters.length === 0 && refunds.length === 0 && confirmations.length === 0
  );
}

/** The result of a settlement: `charged` is the result of `more`; the others say whether the store received them. */
export function settlementResult(
  { isByName, unitChanges }: Settlement,
  charged: ChargeResult<Cost> | undefined,
  isRefunded: boolean,
  isConfirmed: boolean,
): ChargeResult<Cost> {
  const added = toUnitsByName(charged?.charged);
  const counted = mapUnits(unitChanges, (name, { charged: was, target }) => {
    if (target > was) return was + (unitsFor(added, name) ?? 0);
    return isRefunded ? target : was;
  });
  const beyond = toUnitsByName(charged?.overflow);
  const overflow = mapUnits(unitChanges, (name) => unitsFor(beyond, name) ?? 0);
  const degraded = charged?.degraded === true || !isRefunded || !isConfirmed;
  if (isByName) return { charged: counted, overflow, degraded };
  return {
    charged: counted[ALL_LIMITS] as number,
    overflow: overflow[ALL_LIMITS] as number,
    degraded,
  };
}

/** The cost of a decision that could not be settled: its original charge. */
export function unsettledResult({ isByName, unitChanges }: Settlement): ChargeResult<Cost> {
  const charged = mapUnits(unitChanges, (_, { charged: was }) => was);
  const overflow = mapUnits(unitChanges, () => 0);
  if (isByName) return { charged, overflow, degraded: true };
  return { charged: charged[ALL_LIMITS] as number, overflow: 0, degraded: true };
}

function mapUnits(
  units: Settlement["unitChanges"],
  of: (name: string, units: UnitChange) => number,
): CostByName {
  return Object.fromEntries([...units].map(([name, each]) => [name, of(name, each)]));
}

function toUnitsByName(units: Cost = {}): CostByName {
  return typeof units === "number" ? { [ALL_LIMITS]: units } : units;
}
