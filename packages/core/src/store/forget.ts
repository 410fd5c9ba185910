import type { Counter } from "./counter.ts";
import { keysOf } from "./counter.ts";
import { forgetLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";

/** Forgets units. The reply tells 1 when there was anything to forget. */
export const forget: Step<readonly Counter[]> = {
  name: "forget",
  script: forgetLua,
  keys: keysOf,
  parameters: (units) => [keysOf(units).length],
  replySize: () => 1,
  weight: (units) => units.length,
  twin: (units, memory, { now }) => [
    now,
    Math.max(...units.map(({ key }) => (memory.delete(key) ? 1 : 0))),
  ],
};
