import type { Counter } from "./counter.ts";
import { keysOf } from "./counter.ts";
import { runList } from "./list-script.ts";
import { forgetLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";

/** Forgets counters. The reply says 1 when there was anything to forget. */
export const forget: Step<readonly Counter[]> = {
  ...runList("forget", {
    source: forgetLua,
    parameters: (counters: readonly Counter[]) => [keysOf(counters).length],
    replySize: () => 1,
  }),
  keys: keysOf,
  weight: (counters) => counters.length,
  twin: (counters, memory, { now }) => [
    now,
    Math.max(...counters.map(({ key }) => (memory.delete(key) ? 1 : 0))),
  ],
};
