import type { ChargeResult } from "../common/charged.ts";
import type { Cost, CostByName } from "../common/cost.ts";
import type { Confirmation } from "../operations/confirm.ts";
import { confirmationsOf } from "../operations/confirm.ts";
import type { Counter } from "../operations/counter.ts";
import { areByName } from "../operations/counter.ts";
import type { Receipt } from "../operations/refund.ts";
import { receiptBut } from "../operations/refund.ts";
import { largestCost, unitsFor } from "./costs.ts";

/** The name used when a settle has one number. */
const ALL = "";

/** The units that a limit was charged, and the units it should be charged. */
interface Units {
  readonly was: number;
  readonly wants: number;
}

/** The changes that a settle makes. */
export interface Settlement {
  /** Whether units are given by the names of limits; otherwise there is one name for all. */
  readonly isNamed: boolean;
  readonly units: ReadonlyMap<string, Units>;
  /** Additional charges: the counters, with `units` each or their own `costs`, and the units charged before. */
  readonly more: { readonly counters: readonly Counter[]; units: number; beside: number };
  /** Refunds for limits that were charged too much. */
  readonly less: readonly Receipt[];
  /** Confirmed charges, for counters that block on them. */
  readonly kept: readonly Confirmation[];
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
    isNamed: false,
    units: new Map([[ALL, { was: cost, wants: charged.length === 0 ? 0 : units }]]),
    more: {
      counters: missing > 0 ? charged.flatMap(({ counters }) => counters) : [],
      units: missing,
      beside: cost,
    },
    less: units < cost ? charged.map((receipt) => receiptBut(receipt, units)) : [],
    kept: confirmationsOf(charged, units, mayBlock),
  };
}

/** Whether one number settles a receipt: not if its counters were left out by a cost by name. */
function isSettledByNumber({ cost, counters }: Receipt): boolean {
  return cost > 0 || !areByName(counters);
}

/** Limits that are not named keep their charge. */
function planByName(
  receipts: readonly Receipt[],
  units: CostByName,
  mayBlock: boolean,
): Settlement {
  const named = new Map<string, Units>();
  const more: Counter[] = [];
  const less: Receipt[] = [];
  const kept: Confirmation[] = [];
  for (const receipt of receipts) {
    const charged = receipt.counters.map((counter) => {
      const costs = counter.costs ?? counter.limits.map(() => receipt.cost);
      const wants = counter.limits.map(({ name }, i) => {
        const was = costs[i] as number;
        const wants = unitsFor(units, name) ?? was;
        named.set(name, { was, wants });
        return wants;
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
    if (cost > 0) less.push({ ...receipt, cost, counters: given });
    const counters = charged.map(({ counter, costs, wants }) => ({
      ...counter,
      costs: wants,
      alreadyCharged: costs,
    }));
    kept.push(...confirmationsOf([{ ...receipt, counters }], largestCost(counters), mayBlock));
  }
  const charges = { counters: more, units: more.length === 0 ? 0 : largestCost(more), beside: 0 };
  return { isNamed: true, units: named, more: charges, less, kept };
}

/** Whether a settlement changes nothing. */
export function isUnchanged({ more, less, kept }: Settlement): boolean {
  return more.counters.length === 0 && less.length === 0 && kept.length === 0;
}

/** The result of a settlement: `charged` is the result of `more`; the others say whether the store received them. */
export function settled(
  { isNamed, units }: Settlement,
  charged: ChargeResult<Cost> | undefined,
  isGivenBack: boolean,
  isKept: boolean,
): ChargeResult<Cost> {
  const added = byName(charged?.charged);
  const counted = mapUnits(units, (name, { was, wants }) => {
    if (wants > was) return was + (unitsFor(added, name) ?? 0);
    return isGivenBack ? wants : was;
  });
  const beyond = byName(charged?.overflow);
  const overflow = mapUnits(units, (name) => unitsFor(beyond, name) ?? 0);
  const degraded = charged?.degraded === true || !isGivenBack || !isKept;
  if (isNamed) return { charged: counted, overflow, degraded };
  return { charged: counted[ALL] as number, overflow: overflow[ALL] as number, degraded };
}

/** The cost of a decision that could not be settled: its original charge. */
export function unsettled({ isNamed, units }: Settlement): ChargeResult<Cost> {
  const charged = mapUnits(units, (_, { was }) => was);
  const overflow = mapUnits(units, () => 0);
  if (isNamed) return { charged, overflow, degraded: true };
  return { charged: charged[ALL] as number, overflow: 0, degraded: true };
}

function mapUnits(
  units: Settlement["units"],
  of: (name: string, units: Units) => number,
): CostByName {
  return Object.fromEntries([...units].map(([name, each]) => [name, of(name, each)]));
}

function byName(units: Cost = {}): CostByName {
  return typeof units === "number" ? { [ALL]: units } : units;
}
