import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, keysOf, openCounter, weightOf } from "./counter.ts";
import { refundLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";

/** What a decision charged, so that it can be given back. */
export interface Receipt {
  readonly cost: number;
  /** The store's clock when it was charged, in microseconds. */
  readonly charged: number;
  readonly units: readonly Counter[];
  /** The birth of each unit's life that was charged. */
  readonly births: readonly number[];
}

/** Gives back what is left of a charge, only into the life of the unit that was charged. The reply tells 1 when something was. */
export const refund: Step<Receipt> = {
  name: "refund",
  script: refundLua,

  keys: ({ units }) => keysOf(units),

  parameters: ({ cost, charged, units, births }) => [
    cost,
    charged,
    units.length,
    ...units.flatMap(({ description }, u) => [births[u] as number, description]),
  ],

  replySize: () => 1,

  // In a log the charge has to be looked for.
  weight: ({ units }) => weightOf(units, 64),

  twin({ cost, charged, units, births }, memory, moment) {
    let given = false;
    units.forEach((unit, u) => {
      const open = openCounter(unit, memory, moment);
      if (open.generation !== births[u] || charged > moment.now) return;
      let changed = false;
      unit.limits.forEach(({ algorithm, quota }: CompiledLimit, i) => {
        const age = moment.now - charged;
        changed = algorithm.refund(open.states[i], quota, cost, age) || changed;
      });
      if (changed) keepCounter(unit, open, memory);
      given ||= changed;
    });
    return [moment.now, given ? 1 : 0];
  },
};
