import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { digitsOf, LONG_DIGITS, NUMBER_DIGITS } from "../scripts/digits.ts";
import { changeStep } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, openCounter, unitsAt, unitsOf } from "./counter.ts";
import type { Step } from "./store.ts";

/** What a decision charged, so that it can be given back. */
export interface Receipt {
  /** Units of each limit; where the counters have costs, the largest of those. */
  readonly cost: number;
  /** Units of the same decision that stay charged. Default 0. */
  readonly kept?: number;
  /** The store's clock when it was charged, in microseconds. */
  readonly charged: number;
  readonly counters: readonly Counter[];
  /** The generation of each counter that was charged. */
  readonly generations: readonly number[];
  /** Puts the units back where this process holds them; false if they must be given back in the store. */
  readonly putBack?: (() => boolean) | undefined;
}

/** Gives back what is left of a charge, only into the generation of the counter that was charged. The reply is 1 if something was given back. */
export const refund: Step<Receipt> = changeStep("refund", {
  write: (receipt) => unitsOf(receipt.counters, receipt.cost) + chargeFields(receipt),

  // In a log the charge has to be looked for.
  logWeight: () => 64,

  twin({ cost, kept, charged, counters, generations }, memory, moment) {
    let given = false;
    counters.forEach((counter, u) => {
      const open = openCounter(counter, memory, moment);
      if (open.generation !== generations[u] || charged > moment.now) return;
      let changed = false;
      counter.limits.forEach(({ algorithm, quota }: CompiledLimit, i) => {
        const age = moment.now - charged;
        const units = unitsAt(counter, i, cost);
        const stays = counter.besides?.[i] ?? kept;
        if (units === 0) return;
        changed = algorithm.refund(open.states[i], quota, units, age, stays) || changed;
      });
      if (changed) keepCounter(counter, open, memory);
      given ||= changed;
    });
    return [moment.now, given ? 1 : 0];
  },
});

/** A receipt that gives back all of a charge except some units. */
export function receiptBut(receipt: Receipt, kept: number): Receipt {
  return { ...receipt, cost: receipt.cost - kept, kept };
}

/** The part of a receipt for some of its counters. */
export function receiptOf<R extends Receipt>(receipt: R, counters: readonly Counter[]): R {
  if (counters.length === receipt.counters.length) return receipt;
  const { generations } = receipt;
  const own = counters.map((one) => generations[receipt.counters.indexOf(one)] as number);
  return { ...receipt, counters, generations: own };
}

/** When counters were charged, and the generation of each then, as the scripts take it. */
export function chargeFields({ charged, generations }: Receipt): string {
  return (
    digitsOf(charged, LONG_DIGITS) +
    generations.map((generation) => digitsOf(generation, NUMBER_DIGITS)).join("")
  );
}
