import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { decideLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";
import type { Unit } from "./unit.ts";
import { keepUnit, keysOf, openUnit } from "./unit.ts";

export type DecideMode = "charge" | "peek" | "ask";

/** One request to decide. */
export interface DecideCall {
  readonly cost: number;
  /**
   * What an allowed request does: it is charged; it is only looked at (`"peek"`), told as if it had been charged; or it is
   * asked for (`"ask"`), and the limits are told as they are.
   */
  readonly mode: DecideMode;
  readonly units: readonly Unit[];
}

/** Decides requests: all limits of a decision allow, or nothing of it is charged. decide.lua documents the reply. */
export const decide: Step<DecideCall> = {
  name: "decide",
  script: decideLua,

  keys: ({ units }) => keysOf(units),

  parameters: ({ cost, mode, units }) => [
    mode === "charge" ? cost : -cost,
    mode === "ask" ? -units.length : units.length,
    ...units.map(({ description }) => description),
  ],

  replySize: ({ units }) =>
    units.length + 4 * units.reduce((n, { limits }) => n + limits.length, 0),

  twin({ cost, mode, units }, memory, moment) {
    const opened = units.map((unit) => openUnit(unit, memory, moment));
    const waits = units.flatMap(({ limits }, u) =>
      limits.map(({ algorithm, quota }, i) => algorithm.wait(opened[u]?.states[i], quota, cost)),
    );
    const allowed = waits.every((wait) => wait === 0);
    const reply = [moment.now];
    let asked = 0;
    for (let u = 0; u < units.length; u += 1) {
      const unit = units[u] as Unit;
      const open = opened[u] as (typeof opened)[number];
      reply.push(open.birth);
      for (let i = 0; i < unit.limits.length; i += 1) {
        const { algorithm, quota } = unit.limits[i] as CompiledLimit;
        let state = open.states[i];
        if (allowed && mode !== "ask") {
          if (mode !== "charge") state = algorithm.copy(state);
          algorithm.spend(state, quota, cost);
        }
        const { remaining, reset, growth } = algorithm.report(state, quota);
        reply.push(waits[asked] as number, remaining, reset, growth);
        asked += 1;
      }
      if (allowed && mode === "charge") keepUnit(unit, open, memory);
    }
    return reply;
  },
};
