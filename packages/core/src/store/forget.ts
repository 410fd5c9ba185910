import { forgetLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";
import type { Unit } from "./unit.ts";
import { keysOf } from "./unit.ts";

/** Forgets units. The reply tells 1 when there was anything to forget. */
export const forget: Step<readonly Unit[]> = {
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
