import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { COUNT_DIGITS, digitsOf, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, keysOf, numbersOf, openCounter, timesOf, weightOf } from "./counter.ts";
import { readEach } from "./list-script.ts";
import type { Step } from "./store.ts";

/** Units that a limit can hold, and entries that a log can: in the scripts, MOST and ENTRIES. */
const MOST = 2_000_000_000;
const ENTRIES = 1_048_576;

/** Units to charge. */
export interface ChargeCall {
  readonly cost: number;
  /** Units that the same request was charged before. Default 0. */
  readonly beside?: number;
  readonly counters: readonly Counter[];
}

/** Charges counters, whatever is left of their limits. The reply says how many units all limits could hold. */
export const charge: Step<ChargeCall> = {
  name: "charge",
  kind: "decide",

  line: ({ counters }) => scriptsFor(counters),

  times: ({ counters }, clock, guess) => timesOf(counters, clock, guess),

  prepare: (calls, clock, times = "") => ({
    script: scriptsFor((calls[0] as ChargeCall).counters).get("charge"),
    args: [clock, ...calls.map((call) => argumentOf(call, times))],
  }),

  read: readEach,

  keys: ({ counters }) => keysOf(counters),

  weight: ({ counters }) => weightOf(counters, 4),

  twin({ cost, beside, counters }, memory, moment) {
    let counted = cost;
    for (const counter of counters) {
      const open = openCounter(counter, memory, moment);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(cost, roomIn(limit, open.states[i]));
        if (units > 0) limit.algorithm.spend(open.states[i], limit.quota, units, beside);
        counted = Math.min(counted, units);
      });
      keepCounter(counter, open, memory);
    }
    return [moment.now, counted];
  },
};

/** How many more units a limit can hold. */
function roomIn({ algorithm, quota, limit }: CompiledLimit, state: unknown): number {
  if ((algorithm.entries?.(state) ?? 0) >= ENTRIES) return 0;
  const held = limit - algorithm.report(state, quota).remaining;
  return Math.max(0, MOST - held);
}

function argumentOf({ cost, counters }: ChargeCall, times: string): string {
  return (
    numbersOf(counters) +
    times +
    digitsOf(1, COUNT_DIGITS) +
    digitsOf(cost, LONG_DIGITS) +
    newGeneration()
  );
}
