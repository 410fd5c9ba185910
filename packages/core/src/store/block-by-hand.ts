import { COUNT_DIGITS, digitsOf, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import { blockByHand, restOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, keysOf, numbersOf, openCounter, timesOf, weightOf } from "./counter.ts";
import { readEach } from "./list-script.ts";
import type { Step } from "./store.ts";

/** Counters to block. */
export interface BlockCall {
  readonly counters: readonly Counter[];
  /** For so many microseconds from now; 0 ends the block that is there. */
  readonly span: number;
}

/** Blocks counters by hand, or ends their blocks. The reply says 1 when one was blocked, or was until now. */
export const block: Step<BlockCall> = {
  name: "block",
  kind: "decide",

  line: ({ counters }) => scriptsFor(counters),

  times: ({ counters }, clock, guess) => timesOf(counters, clock, guess),

  prepare: (calls, clock, times = "") => ({
    script: scriptsFor((calls[0] as BlockCall).counters).get("block"),
    args: [clock, ...calls.map((call) => argumentOf(call, times))],
  }),

  read: readEach,

  keys: ({ counters }) => keysOf(counters),

  weight: ({ counters }) => weightOf(counters, 4),

  twin({ counters, span }, memory, moment) {
    let isDone = false;
    for (const counter of counters) {
      const open = openCounter(counter, memory, moment);
      if (span === 0 && restOf(open.block, moment.now) === 0) continue;
      open.block = blockByHand(open.block, span, moment.now);
      keepCounter(counter, open, memory);
      isDone = true;
    }
    return [moment.now, isDone ? 1 : 0];
  },
};

function argumentOf({ counters, span }: BlockCall, times: string): string {
  return (
    numbersOf(counters) +
    times +
    digitsOf(1, COUNT_DIGITS) +
    digitsOf(span, LONG_DIGITS) +
    newGeneration()
  );
}
