import { scriptsFor } from "../scripts/shape-scripts.ts";
import type { Counter } from "./counter.ts";
import { keysOf } from "./counter.ts";
import type { Step } from "./store.ts";

interface CounterCall {
  readonly counters: readonly Counter[];
}

/** What all steps on counters have in common: each runs a script that is put together for their shapes. */
export const onCounters: Pick<Step<CounterCall>, "kind" | "line" | "keys"> &
  Required<Pick<Step<CounterCall>, "times">> = {
  kind: "decide",
  line: ({ counters }) => scriptsFor(counters),
  times({ counters }, clock, guess) {
    let now: number | undefined;
    let times = "";
    for (let u = 0; u < counters.length; u += 1) {
      const { timesAt } = counters[u] as Counter;
      if (timesAt === undefined) continue;
      now ??= clock === "" ? guess() : Number(clock);
      times += timesAt(now);
    }
    return times;
  },
  keys: ({ counters }) => keysOf(counters),
};
