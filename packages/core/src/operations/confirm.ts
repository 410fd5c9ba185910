import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { newGeneration } from "../scripts/digits.ts";
import { rulesOf } from "../scripts/rule-digits.ts";
import type { Operation } from "../store/store.ts";
import { UNBLOCKED } from "./block.ts";
import { changeStep } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, openCounter, unitsAt, unitsOf } from "./counter.ts";
import type { Receipt } from "./refund.ts";
import { chargeFields, receiptOf } from "./refund.ts";
import { setBlock } from "./set-block.ts";

/**
 * A charge that was settled, on counters that block on confirmed charges. If the counters have costs, those are the confirmed
 * units, and their `besides` the charged ones.
 */
export interface Confirmation extends Receipt {
  /** Confirmed units of each limit; if the counters have costs, the largest of those. */
  readonly units: number;
  /** Whether it may block: not in shadow mode. */
  readonly mayBlock: boolean;
}

/** The judgements of charges with this many confirmed units. */
export function confirmationsOf(
  receipts: readonly Receipt[],
  units: number,
  mayBlock: boolean,
): readonly Confirmation[] {
  if (units === 0) return [];
  return receipts.flatMap((receipt) => {
    const counters = receipt.counters.filter(({ shape }) => shape.keeps);
    return counters.length === 0 ? [] : [{ ...receiptOf(receipt, counters), units, mayBlock }];
  });
}

/**
 * Confirms units of a charge, and blocks counters in which as many units are confirmed as a limit grants. The reply is 1 if a
 * block was set.
 */
export const confirm: Operation<Confirmation> = changeStep("judge", {
  write(call) {
    const { cost, units, counters, mayBlock } = call;
    const rules = counters.map(({ limits }) => rulesOf(limits, "keeps", mayBlock)).join("");
    const before = counters.map(
      (counter): Counter => ({ ...counter, costs: counter.alreadyCharged }),
    );
    const charged = unitsOf(before, cost) + chargeFields(call);
    return unitsOf(counters, units) + charged + rules + newGeneration();
  },

  twin({ cost, units, charged, counters, generations, mayBlock }, memory, moment) {
    let isSet = false;
    counters.forEach((counter, u) => {
      const open = openCounter(counter, memory, moment);
      const { ends, setBy } = open.block ?? UNBLOCKED;
      // Units confirmed for a charge from before a limit's block no longer count.
      if (setBy > 0 && ends > charged) return;
      const isHere = open.generation === generations[u] && charged <= moment.now;
      const age = isHere ? moment.now - charged : Number.POSITIVE_INFINITY;
      counter.limits.forEach(({ algorithm, quota }: CompiledLimit, i) => {
        const before = counter.alreadyCharged?.[i] ?? cost;
        algorithm.keep?.(open.states[i], quota, unitsAt(counter, i, units), before, age);
      });
      const isExceeded = ({ algorithm, limit }: CompiledLimit, i: number) =>
        algorithm.kept !== undefined && algorithm.kept(open.states[i]) >= limit;
      isSet = (mayBlock && setBlock(counter, open, isExceeded, moment.generation)) || isSet;
      keepCounter(counter, open, memory);
    });
    return [moment.now, isSet ? 1 : 0];
  },
});
