import { digitsOf, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import { blockByHand, restOf } from "./block.ts";
import { changeStep } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, openCounter } from "./counter.ts";

/** Counters to block. */
export interface BlockCall {
  readonly counters: readonly Counter[];
  /** For how many microseconds from now; 0 ends the existing block. */
  readonly span: number;
}

/** Blocks counters by hand, or ends their blocks. The reply is 1 if one is blocked now, or was before. */
export const block: Operation<BlockCall> = changeStep("block", {
  write: ({ span }) => digitsOf(span, LONG_DIGITS) + newGeneration(),

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
});
