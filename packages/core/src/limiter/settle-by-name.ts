import type { Charged } from "../charged.ts";
import type { Cost, CostByName } from "../cost.ts";
import type { Counter } from "../store/counter.ts";
import type { Judgement } from "../store/judge.ts";
import { judgementsOf } from "../store/judge.ts";
import type { Receipt } from "../store/refund.ts";
import { largestCost, unitsFor } from "./costs.ts";

/** What a settle by name changes. */
export interface Settlement {
  /** What each limit was charged, by its name. */
  readonly before: CostByName;
  /** What each shall be charged. */
  readonly wanted: CostByName;
  /** Counters, and what each of their limits is to be charged more. */
  readonly more: readonly Counter[];
  /** What gives back what limits were charged too much. */
  readonly less: readonly Receipt[];
  /** What is kept of counters that block by that. */
  readonly kept: readonly Judgement[];
}

/** How units are charged, given back and kept; `giveBack` and `keep` resolve with whether the store got it. */
export interface Settler {
  charge(counters: readonly Counter[]): Promise<Charged<Cost>>;
  giveBack(receipts: readonly Receipt[]): Promise<boolean>;
  keep(judgements: readonly Judgement[]): Promise<boolean>;
}

/**
 * What there is to do to make what was charged cost so many units; limits that are not named keep theirs. `mayBlock`: whether what is
 * kept may block.
 */
export function settlementOf(
  receipts: readonly Receipt[],
  units: CostByName,
  mayBlock: boolean,
): Settlement {
  const before = new Map<string, number>();
  const wanted = new Map<string, number>();
  const more: Counter[] = [];
  const less: Receipt[] = [];
  const kept: Judgement[] = [];
  for (const receipt of receipts) {
    const charged = receipt.counters.map((counter) => {
      const costs = counter.costs ?? counter.limits.map(() => receipt.cost);
      const wants = counter.limits.map(({ name }, i) => {
        before.set(name, costs[i] as number);
        wanted.set(name, unitsFor(units, name) ?? (costs[i] as number));
        return wanted.get(name) as number;
      });
      return { counter, costs, wants };
    });
    for (const { counter, costs, wants } of charged) {
      const missing = wants.map((count, i) => Math.max(0, count - (costs[i] as number)));
      if (Math.max(...missing) > 0) more.push({ ...counter, costs: missing, besides: costs });
    }
    const given = charged.map(({ counter, costs, wants }) => ({
      ...counter,
      costs: wants.map((count, i) => Math.max(0, (costs[i] as number) - count)),
      besides: wants,
    }));
    const cost = largestCost(given);
    if (cost > 0) less.push({ ...receipt, cost, counters: given });
    const counters = charged.map(({ counter, costs, wants }) => ({
      ...counter,
      costs: wants,
      besides: costs,
    }));
    kept.push(...judgementsOf([{ ...receipt, counters }], largestCost(counters), mayBlock));
  }
  const names = { before: Object.fromEntries(before), wanted: Object.fromEntries(wanted) };
  return { ...names, more, less, kept };
}

/** Charges what is missing, gives back what was too much, and keeps the rest: what the store does not get stays as it was. */
export async function settleByName(
  { before, wanted, more, less, kept }: Settlement,
  { charge, giveBack, keep }: Settler,
): Promise<Charged<CostByName>> {
  const charged = more.length === 0 ? undefined : await charge(more);
  const isGivenBack = less.length === 0 || (await giveBack(less));
  const isKept = kept.length === 0 || (await keep(kept));
  const cut = (charged?.cut ?? {}) as CostByName;
  const added = (charged?.counted ?? {}) as CostByName;
  const countOf = (name: string, was: number): number => {
    const wants = wanted[name] as number;
    if (wants > was) return was + (unitsFor(added, name) ?? 0);
    return isGivenBack ? wants : was;
  };
  const names = Object.entries(before);
  return {
    counted: Object.fromEntries(names.map(([name, was]) => [name, countOf(name, was)])),
    cut: Object.fromEntries(names.map(([name]) => [name, unitsFor(cut, name) ?? 0])),
    degraded: charged?.degraded === true || !isGivenBack || !isKept,
  };
}

/** What a decision that the store could not settle costs: what it did. */
export function unsettled({ before }: Settlement): Charged<CostByName> {
  const cut = Object.fromEntries(Object.keys(before).map((name) => [name, 0]));
  return { counted: before, cut, degraded: true };
}
