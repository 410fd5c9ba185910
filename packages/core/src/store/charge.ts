import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { newGeneration } from "../scripts/digits.ts";
import { changeStep, integersIn } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { areByName, keepCounter, openCounter, unitsAt, unitsOf } from "./counter.ts";
import { readInteger } from "./list-script.ts";
import type { Step } from "./store.ts";

/** Units that a limit can hold, and entries that a log can; MOST and ENTRIES in the scripts. */
const MOST = 2_000_000_000;
const ENTRIES = 1_048_576;

/** Units to charge: the same number to each limit, unless the counters have costs. */
export interface ChargeCall {
  readonly cost: number;
  /** Units already charged to the same request. Default 0. */
  readonly beside?: number;
  readonly counters: readonly Counter[];
}

/**
 * Charges counters regardless of how much is left. The reply is the number of units that every limit could hold; with costs, a
 * number for each limit.
 */
export const charge: Step<ChargeCall> = changeStep("charge", {
  write: ({ counters, cost }) => unitsOf(counters, cost) + newGeneration(),

  read: ({ counters }, answer) =>
    areByName(counters)
      ? integersIn(answer, counters.flatMap(({ limits }) => limits).length)
      : [readInteger(answer)],

  twin({ cost, beside, counters }, memory, moment) {
    const counted: number[] = [];
    for (const counter of counters) {
      const open = openCounter(counter, memory, moment);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(unitsAt(counter, i, cost), roomIn(limit, open.states[i]));
        const held = counter.besides?.[i] ?? beside;
        if (units > 0) limit.algorithm.spend(open.states[i], limit.quota, units, held);
        counted.push(units);
      });
      keepCounter(counter, open, memory);
    }
    return [moment.now, ...(areByName(counters) ? counted : [Math.min(cost, ...counted)])];
  },
});

/** How many more units a limit can hold. */
function roomIn({ algorithm, quota, limit }: CompiledLimit, state: unknown): number {
  if ((algorithm.entries?.(state) ?? 0) >= ENTRIES) return 0;
  const held = limit - algorithm.report(state, quota).remaining;
  return Math.max(0, MOST - held);
}
