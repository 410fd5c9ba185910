import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { encodeDigits, LONG_DIGITS, PARAMETER_DIGITS } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import type { Counter } from "./counter.ts";
import { costAt, encodeCosts, loadCounter, saveCounter } from "./counter.ts";
import { defineMutation, readFlag } from "./mutation.ts";

/** The record of a charge, which allows refunding it. */
export interface Receipt {
  /** The units charged to each limit; if the counters have costs, the largest of those. */
  readonly cost: number;
  /** Units of the same decision that stay charged. Default 0. */
  readonly stillCharged?: number;
  /** The store's clock at the time of the charge, in microseconds. */
  readonly chargedAt: number;
  readonly counters: readonly Counter[];
  /** The generation of each counter that was charged. */
  readonly generations: readonly number[];
  /** Returns the units to the lease of this process; false if they must be refunded in the store. */
  readonly returnToLease?: (() => boolean) | undefined;
}

/**
 * Refunds the remainder of a charge, only into the generation of the counter that was charged. Replies whether something
 * was refunded.
 */
export const refund: Operation<Receipt, boolean> = defineMutation("refund", {
  encode: (receipt) => encodeCosts(receipt.counters, receipt.cost) + encodeChargeFields(receipt),

  decode: (_, reply) => readFlag(reply),

  // The script has to search a log for the charge.
  logWeight: () => 64,

  runInMemory({ cost, stillCharged, chargedAt, counters, generations }, memory, context) {
    let isRefunded = false;
    counters.forEach((counter, u) => {
      const state = loadCounter(counter, memory, context);
      if (state.generation !== generations[u] || chargedAt > context.now) return;
      let changed = false;
      counter.limits.forEach(({ algorithm, quota }: CompiledLimit, i) => {
        const age = context.now - chargedAt;
        const units = costAt(counter, i, cost);
        const stays = counter.alreadyCharged?.[i] ?? stillCharged;
        if (units === 0) return;
        changed = algorithm.refund(state.limitStates[i], quota, units, age, stays) || changed;
      });
      if (changed) saveCounter(counter, state, memory);
      isRefunded ||= changed;
    });
    return isRefunded;
  },
});

/** A receipt for all units of a charge except `stillCharged`. */
export function partialReceipt(receipt: Receipt, stillCharged: number): Receipt {
  return { ...receipt, cost: receipt.cost - stillCharged, stillCharged };
}

/** The part of a receipt for some of its counters. */
export function receiptFor<R extends Receipt>(receipt: R, counters: readonly Counter[]): R {
  if (counters.length === receipt.counters.length) return receipt;
  const { generations } = receipt;
  const own = counters.map((one) => generations[receipt.counters.indexOf(one)] as number);
  return { ...receipt, counters, generations: own };
}

/** The time of the charge and the generation of each counter then, as passed to the scripts. */
export function encodeChargeFields({ chargedAt, generations }: Receipt): string {
  return (
    encodeDigits(chargedAt, LONG_DIGITS) +
    generations.map((generation) => encodeDigits(generation, PARAMETER_DIGITS)).join("")
  );
}
