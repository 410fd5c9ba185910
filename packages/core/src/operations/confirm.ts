import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { newGeneration } from "../scripts/digits.ts";
import { encodeBlockRules } from "../scripts/encode-rules.ts";
import type { Operation } from "../store/store.ts";
import { UNBLOCKED } from "./block.ts";
import type { Counter } from "./counter.ts";
import { costAt, encodeCosts, loadCounter, saveCounter } from "./counter.ts";
import { defineMutation, readFlag } from "./mutation.ts";
import type { Receipt } from "./refund.ts";
import { encodeChargeFields, receiptFor } from "./refund.ts";
import { setBlock } from "./set-block.ts";

/**
 * A settled charge of counters that block on confirmed charges. If the counters have costs, those are the confirmed units,
 * and `alreadyCharged` has the charged ones.
 */
export interface Confirmation extends Receipt {
  /** Confirmed units of each limit; if the counters have costs, the largest of those. */
  readonly units: number;
  /** Whether it may set a block; false in shadow mode. */
  readonly mayBlock: boolean;
}

/** Confirmations of charges, each with this many confirmed units. */
export function confirmationsOf(
  receipts: readonly Receipt[],
  units: number,
  mayBlock: boolean,
): readonly Confirmation[] {
  if (units === 0) return [];
  return receipts.flatMap((receipt) => {
    const counters = receipt.counters.filter(({ shape }) => shape.blocksOnSettle);
    return counters.length === 0 ? [] : [{ ...receiptFor(receipt, counters), units, mayBlock }];
  });
}

/**
 * Confirms units of a charge, and blocks counters in which as many units are confirmed as a limit grants. Replies
 * whether that set a block.
 */
export const confirm: Operation<Confirmation, boolean> = defineMutation("confirm", {
  encode(call) {
    const { cost, units, counters, mayBlock } = call;
    const rules = counters
      .map(({ limits }) => encodeBlockRules(limits, "blocksOnSettle", mayBlock))
      .join("");
    const before = counters.map(
      (counter): Counter => ({ ...counter, costs: counter.alreadyCharged }),
    );
    const charged = encodeCosts(before, cost) + encodeChargeFields(call);
    return encodeCosts(counters, units) + charged + rules + newGeneration();
  },

  decode: (_, reply) => readFlag(reply),

  runInMemory({ cost, units, chargedAt, counters, generations, mayBlock }, memory, context) {
    let isSet = false;
    counters.forEach((counter, u) => {
      const state = loadCounter(counter, memory, context);
      const { endsAt, setBy } = state.block ?? UNBLOCKED;
      // Units confirmed for a charge from before a limit's block no longer count.
      if (setBy !== "operator" && endsAt > chargedAt) return;
      const isSameGeneration = state.generation === generations[u] && chargedAt <= context.now;
      const age = isSameGeneration ? context.now - chargedAt : Number.POSITIVE_INFINITY;
      counter.limits.forEach(({ algorithm, quota }: CompiledLimit, i) => {
        const before = counter.alreadyCharged?.[i] ?? cost;
        algorithm.confirm?.(state.limitStates[i], quota, costAt(counter, i, units), before, age);
      });
      const isExceeded = ({ algorithm, limit }: CompiledLimit, i: number) =>
        algorithm.confirmedUnits !== undefined &&
        algorithm.confirmedUnits(state.limitStates[i]) >= limit;
      isSet = (mayBlock && setBlock(counter, state, isExceeded, context.generation)) || isSet;
      saveCounter(counter, state, memory);
    });
    return isSet;
  },
});
