import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { COUNT_DIGITS, digitsOf } from "../scripts/digits.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import type { Counter } from "./counter.ts";
import { keepCounter, keysOf, numbersOf, openCounter, weightOf } from "./counter.ts";
import { readInteger } from "./list-script.ts";
import type { Step } from "./store.ts";

/** The most holders in one call. */
export const MOST_HOLDERS = 64;

/** Places of one counter that are renewed, or given back. */
export interface PlacesCall {
  readonly counter: Counter;
  readonly holders: readonly string[];
  readonly renews: boolean;
}

/** Renews places, or gives them back. The reply has for each holder whether its place was there, 1 or 0. */
export const places: Step<PlacesCall> = {
  name: "places",
  kind: "decide",

  line: ({ counter }) => scriptsFor([counter]),

  prepare: (calls, clock) => ({
    script: scriptsFor([(calls[0] as PlacesCall).counter]).get("places"),
    args: [clock, ...calls.map(argumentOf)],
  }),

  read(calls, reply) {
    const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return calls.map(({ holders }, i) => readAnswer(answers[i], holders.length));
  },

  keys: ({ counter }) => keysOf([counter]),

  weight: ({ counter, holders }) => weightOf([counter], 4 + holders.length),

  twin({ counter, holders, renews }, memory, moment) {
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
};

function readAnswer(answer: unknown, size: number): readonly number[] | undefined {
  if (readInteger(answer) === -1) return [0, -1];
  const areThere = Array.isArray(answer) ? answer.map(readInteger) : [];
  return areThere.length === size && areThere.every(Number.isSafeInteger)
    ? [0, ...areThere]
    : undefined;
}

function argumentOf({ counter, holders, renews }: PlacesCall): string {
  const digits = digitsOf(1, COUNT_DIGITS) + digitsOf(renews ? 1 : 0, 1);
  return numbersOf([counter]) + digits + holders.join("");
}
