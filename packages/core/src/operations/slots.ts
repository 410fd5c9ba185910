import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { digitsOf } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import { changeStep, integersIn } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, openCounter } from "./counter.ts";

/** The most holders in one call. */
export const MOST_HOLDERS = 64;

/** Slots of one counter to renew or release. */
export interface SlotsCall {
  readonly counters: readonly [Counter];
  readonly holders: readonly string[];
  readonly renews: boolean;
}

/** Renews or releases slots. The reply has for each holder whether its slot was there, 1 or 0. */
export const slotsOperation: Operation<SlotsCall> = changeStep("places", {
  write: ({ holders, renews }) => digitsOf(renews ? 1 : 0, 1) + holders.join(""),

  read: ({ holders }, answer) => integersIn(answer, holders.length),

  logWeight: ({ holders }) => 4 + holders.length,

  twin({ counters: [counter], holders, renews }, memory, moment) {
    const open = openCounter(counter, memory, moment);
    const { algorithm, quota } = counter.limits[0] as CompiledLimit;
    const [state] = open.states;
    const areThere = holders.map((holder) => {
      const number = algorithm.leave?.(state, holder) ?? 0;
      if (number > 0 && renews) algorithm.hold?.(state, quota, holder, number);
      return number > 0 ? 1 : 0;
    });
    if (areThere.includes(1)) keepCounter(counter, open, memory);
    return [moment.now, ...areThere];
  },
});
