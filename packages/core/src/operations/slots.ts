import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { encodeDigits } from "../scripts/digits.ts";
import type { Operation } from "../store/store.ts";
import type { Counter } from "./counter.ts";
import { loadCounter, saveCounter } from "./counter.ts";
import { defineMutation, readIntegers } from "./mutation.ts";

/** The most holders in one call. */
export const MAX_HOLDERS = 64;

/** Slots of one counter to renew or release. */
export interface SlotsCall {
  readonly counters: readonly [Counter];
  readonly holders: readonly string[];
  readonly renews: boolean;
}

/** Renews or releases slots. Replies for each holder whether it held a slot. */
export const slotsOperation: Operation<SlotsCall, readonly boolean[]> = defineMutation("slots", {
  encode: ({ holders, renews }) => encodeDigits(renews ? 1 : 0, 1) + holders.join(""),

  decode: ({ holders }, reply) =>
    readIntegers(reply, holders.length)?.map((wasHeld) => wasHeld === 1),

  logWeight: ({ holders }) => 4 + holders.length,

  runInMemory({ counters: [counter], holders, renews }, memory, context) {
    const loaded = loadCounter(counter, memory, context);
    const { algorithm, quota } = counter.limits[0] as CompiledLimit;
    const [state] = loaded.limitStates;
    const wereHeld = holders.map((holder) => {
      const number = algorithm.releaseSlots?.(state, holder) ?? 0;
      if (number > 0 && renews) algorithm.acquireSlots?.(state, quota, holder, number);
      return number > 0;
    });
    if (wereHeld.includes(true)) saveCounter(counter, loaded, memory);
    return wereHeld;
  },
});
