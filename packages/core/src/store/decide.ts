import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Counter, OpenCounter } from "./counter.ts";
import { keepReported, keysOf, openCounter, weightOf } from "./counter.ts";
import { decideLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";

export type DecideMode = "charge" | "peek" | "ask";

/** One request to decide. */
export interface DecideCall {
  /** Units; 0 only looks, and reports the limits as they are. */
  readonly cost: number;
  /**
   * What an allowed request does: it is charged; it is only looked at (`"peek"`), told as if it had been charged; or it is
   * asked for (`"ask"`), and the limits are told as they are.
   */
  readonly mode: DecideMode;
  readonly units: readonly Counter[];
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

  weight: ({ units }) => weightOf(units, 4),

  twin({ cost, mode, units }, memory, moment) {
    const opened: OpenCounter[] = [];
    const reply = [moment.now];
    let allowed = true;
    for (let u = 0; u < units.length; u += 1) {
      const unit = units[u] as Counter;
      const open = openCounter(unit, memory, moment);
      opened.push(open);
      reply.push(open.generation);
      for (let i = 0; i < unit.limits.length; i += 1) {
        const { algorithm, quota } = unit.limits[i] as CompiledLimit;
        const wait = algorithm.wait(open.states[i], quota, cost);
        allowed &&= wait === 0;
        reply.push(wait, 0, 0, 0);
      }
    }
    // Spending 0 would append an entry to a log.
    const spends = allowed && mode !== "ask" && cost > 0;
    const charges = allowed && mode === "charge";
    let at = 1;
    for (let u = 0; u < units.length; u += 1) {
      const unit = units[u] as Counter;
      const open = opened[u] as OpenCounter;
      let share = 0;
      let longest = 0;
      at += 1;
      for (let i = 0; i < unit.limits.length; i += 1) {
        const { algorithm, quota, limit } = unit.limits[i] as CompiledLimit;
        const state = spends && !charges ? algorithm.copy(open.states[i]) : open.states[i];
        if (spends) algorithm.spend(state, quota, cost);
        const { remaining, reset, growth } = algorithm.report(state, quota);
        reply[at + 1] = remaining;
        reply[at + 2] = reset;
        reply[at + 3] = growth;
        at += 4;
        share = Math.max(share, 1 - remaining / limit);
        longest = Math.max(longest, reset);
      }
      if (charges) keepReported(unit, open, share, longest, memory);
    }
    return reply;
  },
};
