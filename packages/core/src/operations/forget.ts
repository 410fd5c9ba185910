import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { CounterShape, FieldOffset } from "../scripts/counter-shape.ts";
import { HEADER_BYTES } from "../scripts/counter-shape.ts";
import type { Now, Operation, TwinMemory } from "../store/store.ts";
import { restOf } from "./block.ts";
import type { Counter, OpenCounter } from "./counter.ts";
import { keepCounter, keysOf } from "./counter.ts";
import { runList } from "./list-script.ts";
import { forgetLua } from "./lua.generated.ts";

/** Forgets counters, but not blocks set by hand. The reply is 1 if there was anything to forget. */
export const forget: Operation<readonly Counter[]> = {
  ...runList("forget", {
    source: forgetLua,
    parameters: (counters: readonly Counter[]) => [
      counters.length,
      ...counters.flatMap((counter) => [keysOf([counter]).length, keptOf(counter.shape)]),
    ],
    replySize: () => 1,
  }),
  keys: keysOf,
  weight: (counters) => counters.length,
  twin: (counters, memory, moment) => [
    moment.now,
    Math.max(...counters.map((counter) => forgetHere(counter, memory, moment))),
  ],
};

/** A digit for each byte of a counter's states: 1 for bytes that an unused counter keeps. */
function keptOf({ limits, offsets, width }: CounterShape): string {
  const kept = new Array<number>(width).fill(0);
  for (const [i, { state, dates = [] }] of limits.entries()) {
    for (const [n, [name]] of state.entries()) {
      const [at, bytes] = (offsets[i] as readonly FieldOffset[])[n] as FieldOffset;
      if (dates.includes(name)) kept.fill(1, at, at + bytes);
    }
  }
  return kept.slice(HEADER_BYTES).join("");
}

function forgetHere(counter: Counter, memory: TwinMemory, { now, generation }: Now): number {
  const { key, limits } = counter;
  const open = memory.get(key) as OpenCounter | undefined;
  const { block } = open ?? {};
  if (open === undefined || block === undefined || block.setBy > 0 || restOf(block, now) === 0) {
    return memory.delete(key) ? 1 : 0;
  }
  const states = limits.map(({ algorithm, quota }: CompiledLimit) => algorithm.fresh(quota));
  const kept = { ...block, levelEnds: 0, level: 0 };
  const forgotten = { stamp: now, generation, states, block: kept, marks: undefined };
  keepCounter(counter, { ...open, ...forgotten }, memory);
  return 1;
}
