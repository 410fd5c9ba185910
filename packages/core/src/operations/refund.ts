import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { digitsOf, LONG_DIGITS, NUMBER_DIGITS } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import { changeStep } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, openCounter, unitsAt, unitsOf } from "./counter.ts";

/** The record of a charge, with which it can be refunded. */
export interface Receipt {
  /** Units of each limit; if the counters have costs, the largest of those. */
  readonly cost: number;
  /** Units of the same decision that stay charged. Default 0. */
  readonly kept?: number;
  /** The store's clock at the time of the charge, in microseconds. */
  readonly charged: number;
  readonly counters: readonly Counter[];
  /** The generation of each counter that was charged. */
  readonly generations: readonly number[];
  /** Puts the units back if this process holds them; false if they must be refunded in the store. */
  readonly returnToLease?: (() => boolean) | undefined;
}

/**
 * Refunds the remainder of a charge, only into the generation of the counter that was charged. The reply is 1 if something was
 * refunded.
 */
export const refund: Operation<Receipt> = changeStep("refund", {
  write: (receipt) => unitsOf(receipt.counters, receipt.cost) + chargeFields(receipt),

  // In a log the charge has to be searched for.
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
        const stays = counter.alreadyCharged?.[i] ?? kept;
        if (units === 0) return;
        changed = algorithm.refund(open.states[i], quota, units, age, stays) || changed;
      });
      if (changed) keepCounter(counter, open, memory);
      given ||= changed;
    });
    return [moment.now, given ? 1 : 0];
  },
});

/** A receipt that refunds all of a charge except some units. */
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

/** The time of the charge, and the generation of each counter then, as passed to the scripts. */
export function chargeFields({ charged, generations }: Receipt): string {
  return (
    digitsOf(charged, LONG_DIGITS) +
    generations.map((generation) => digitsOf(generation, NUMBER_DIGITS)).join("")
  );
}
