import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { MAX_LEVELS } from "../algorithms/blocks.ts";
import { UNBLOCKED } from "./block.ts";
import type { Counter, CounterState } from "./counter.ts";

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
