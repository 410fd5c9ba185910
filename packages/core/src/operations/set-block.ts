import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { MAX_LEVELS } from "../algorithms/blocks.ts";
import { encodeDigits, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import { applyManualBlock, remainingMicrosOf, UNBLOCKED } from "./block.ts";
import type { Counter } from "./counter.ts";
import { loadCounter, saveCounter } from "./counter.ts";
import type { CounterState } from "./counter-state.ts";
import { defineMutation, readFlag } from "./mutation.ts";

/**
 * Blocks a counter that is not blocked, if any of its limits with a block is exceeded. Of several, the longest block counts.
 * The limit that sets the block starts anew, in a new generation. Returns whether a block was set. Twin of the section
 * `block` of counter.lua.
 */
export function setBlock(
  { limits }: Counter,
  state: CounterState,
  isExceeded: (limit: CompiledLimit, i: number) => boolean,
  generation: number,
): boolean {
  const now = state.stamp;
  const { endsAt, levelEndsAt, level } = state.block ?? UNBLOCKED;
  if (endsAt > now) return false;
  let longest = 0;
  let by = 0;
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as CompiledLimit;
    const { block } = limit;
    if (block === undefined || !isExceeded(limit, i)) continue;
    const span = block.durations[Math.min(level, block.durations.length - 1)] as number;
    if (span <= longest) continue;
    longest = span;
    by = i + 1;
  }
  if (longest === 0) return false;
  const { algorithm, quota, block } = limits[by - 1] as CompiledLimit;
  const quiet = Math.max(longest, block?.quietPeriod as number);
  state.block = {
    endsAt: now + longest,
    levelEndsAt: Math.max(levelEndsAt, now + longest + quiet),
    level: Math.min(level + 1, MAX_LEVELS),
    setBy: by,
  };
  state.generation = generation;
  state.limitStates[by - 1] = algorithm.createState(quota);
  algorithm.advance(state.limitStates[by - 1], quota, 0, now);
  return true;
}

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
