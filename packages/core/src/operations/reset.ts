import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { CounterShape, FieldOffset } from "../scripts/counter-shape.ts";
import { HEADER_BYTES } from "../scripts/counter-shape.ts";
import type { MemoryAccess, Operation, OperationContext } from "../store/store.ts";
import { remainingMicrosOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { keysOf, readCounter, saveCounter } from "./counter.ts";
import { defineListOperation } from "./list-script.ts";
import { resetLua } from "./lua.generated.ts";

const resetScript = defineListOperation("reset", {
  source: resetLua,
  parameters: (counters: readonly Counter[]) => [
    counters.length,
    ...counters.flatMap((counter) => [keysOf([counter]).length, encodeKeptBytes(counter.shape)]),
  ],
  replySize: () => 1,
});

/** Resets counters, except for manual blocks. Replies whether there was anything to reset. */
export const reset: Operation<readonly Counter[], boolean> = {
  ...resetScript,
  decode: (calls, reply) =>
    resetScript.decode(calls, reply).map((integers) => integers && integers[1] === 1),
  keys: keysOf,
  weight: (counters) => counters.length,
  runInMemory: (counters, memory, context) =>
    counters.map((counter) => resetInMemory(counter, memory, context)).includes(true),
};

/** A digit for each byte of a counter's states: 1 for the bytes of times, which a reset keeps. */
function encodeKeptBytes({ limits, offsets, width }: CounterShape): string {
  const kept = new Array<number>(width).fill(0);
  for (const [i, { state, timestamps = [] }] of limits.entries()) {
    for (const [n, [name]] of state.entries()) {
      const [at, bytes] = (offsets[i] as readonly FieldOffset[])[n] as FieldOffset;
      if (timestamps.includes(name)) kept.fill(1, at, at + bytes);
    }
  }
  return kept.slice(HEADER_BYTES).join("");
}

function resetInMemory(
  counter: Counter,
  memory: MemoryAccess,
  { now, generation }: OperationContext,
): boolean {
  const { keyspace, key, limits } = counter;
  const state = readCounter(counter, memory);
  const { block } = state ?? {};
  if (
    state === undefined ||
    block === undefined ||
    block.setBy !== "operator" ||
    remainingMicrosOf(block, now) === 0
  ) {
    return memory.delete(keyspace, key);
  }
  const states = limits.map(({ algorithm, quota }: CompiledLimit) => algorithm.createState(quota));
  const kept = { ...block, levelEndsAt: 0, level: 0 };
  const emptyState = {
    stamp: now,
    generation,
    limitStates: states,
    block: kept,
    thresholdMarks: undefined,
  };
  saveCounter(counter, { ...state, ...emptyState }, memory);
  return true;
}
