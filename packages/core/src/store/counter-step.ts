import { COUNT_DIGITS, digitsOf } from "../scripts/digits.ts";
import type { ScriptName } from "../scripts/script-argument.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import type { Counter } from "./counter.ts";
import { keysOf, numbersOf } from "./counter.ts";
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

/** The same for a step that takes calls one by one, named after its script. `fieldsOf` is what a call brings besides its counters' numbers. */
export function runOneByOne<Call extends CounterCall>(
  name: ScriptName,
  fieldsOf: (call: Call) => string,
): Pick<Step<Call>, "name" | "kind" | "line" | "times" | "prepare" | "keys"> {
  return {
    ...onCounters,
    name,
    prepare: (calls, clock, times = "") => ({
      script: scriptsFor((calls[0] as Call).counters).get(name),
      args: [
        clock,
        ...calls.map(
          (call) => numbersOf(call.counters) + times + digitsOf(1, COUNT_DIGITS) + fieldsOf(call),
        ),
      ],
    }),
  };
}
