import { encodeDigits, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import { applyManualBlock, remainingMicrosOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { loadCounter, saveCounter } from "./counter.ts";
import { defineMutation, readFlag } from "./mutation.ts";

/** Counters to block or unblock. */
export interface BlockCall {
  readonly counters: readonly Counter[];
  /** Microseconds from now; 0 ends the existing block. */
  readonly duration: number;
}

/** Sets manual blocks, or ends the blocks of counters. Replies whether a counter is blocked now, or was before. */
export const block: Operation<BlockCall, boolean> = defineMutation("block", {
  encode: ({ duration }) => encodeDigits(duration, LONG_DIGITS) + newGeneration(),

  decode: (_, reply) => readFlag(reply),

  runInMemory({ counters, duration }, memory, context) {
    let isDone = false;
    for (const counter of counters) {
      const state = loadCounter(counter, memory, context);
      if (duration === 0 && remainingMicrosOf(state.block, context.now) === 0) continue;
      state.block = applyManualBlock(state.block, duration, context.now);
      saveCounter(counter, state, memory);
      isDone = true;
    }
    return isDone;
  },
});
